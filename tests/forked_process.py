"""A process that `tests/command_server.py` forks, and the messages with which it is asked for."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


class ForkedProcess:
    """A command in a fork, with those methods of `subprocess.Popen` that tests of a service use."""

    def __init__(self, channel: socket.socket, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._channel = channel

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        if self.returncode is None and select.select([self._channel], [], [], 0)[0]:
            return self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code, that of a signal negative."""
        if self.returncode is None:
            self._channel.settimeout(timeout)
            try:
                self.returncode = read_number(self._channel)
            except TimeoutError:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0) from None
            self._channel.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


def ask(
    channel: socket.socket,
    module: str,
    arguments: Sequence[str],
    env: Mapping[str, str],
    cwd: Path | None,
    streams: tuple[int, int],
    *,
    own_session: bool = False,
) -> int:
    """Ask for a fork that runs `python -m MODULE ARGUMENTS` and writes to `streams`; return its process id."""
    request: dict[str, object] = {"module": module, "arguments": list(arguments), "env": dict(env)}
    request |= {"cwd": str(cwd or Path.cwd()), "own_session": own_session}
    message = json.dumps(request).encode()
    socket.send_fds(channel, [len(message).to_bytes(4, "big")], streams)
    channel.sendall(message)
    return read_number(channel)


def read(channel: socket.socket, size: int) -> bytes:
    """Read exactly `size` bytes."""
    parts = b""
    while len(parts) < size:
        part = channel.recv(size - len(parts))
        if not part:
            raise EOFError("the other end is closed")
        parts += part
    return parts


def read_number(channel: socket.socket) -> int:
    """Read a number: a process id or an exit code."""
    return int.from_bytes(read(channel, 4), "big", signed=True)


def send_number(channel: socket.socket, number: int) -> None:
    """Send a number."""
    channel.sendall(number.to_bytes(4, "big", signed=True))
