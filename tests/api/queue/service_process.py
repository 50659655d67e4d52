"""The real service in a process of its own, for tests that kill and restart it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from mayavi.client import Client
from tests.command_server import CommandServer
from tests.forked_process import ForkedProcess

KEY = "mvk_a-key-for-tests-only-0123456789"
PATIENCE_S = 300.0
LONG = """name: long
chain: ethereum
steps: 1_000_000
step_blocks: 1
agents:
  borrower: {kind: borrower, collateral: 1 WETH, debt: 100 USDC}
"""
"""A run that no test waits for."""


class ServiceProcess:
    """`mayavi serve` on a free port of its own; a restart keeps port, data and store.

    A fork of `commands`, or a new interpreter without it.
    """

    def __init__(self, folder: Path, *options: str, commands: CommandServer | None = None) -> None:
        self.folder, self.options, self.commands = folder, options, commands
        self.store = folder / "runs.duckdb"
        self.log = folder / "service.log"
        self.port = 0
        self.process: ForkedProcess | subprocess.Popen[bytes] | None = None
        # Certificates are read once, if at all: tests ask many times a second. Each request connects anew, since a
        # server may have been killed.
        self._http = httpx.Client(timeout=PATIENCE_S, verify=False, limits=httpx.Limits(max_keepalive_connections=0))
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        command = ["serve", "--port", str(self.port)]
        command += ["--data", str(self.folder / "data"), "--store", str(self.store), *self.options]
        environment = os.environ | {"MAYAVI_API_KEY": KEY}
        reading, writing = os.pipe()
        with open(self.log, "ab") as log, open(writing, "wb") as out:
            if self.commands is not None:
                self.process = self.commands.start(command, environment, out.fileno(), log.fileno())
            else:
                command = [sys.executable, "-m", "mayavi", *command]
                self.process = subprocess.Popen(command, stdout=out, stderr=log, env=environment)
        self._said = os.fdopen(reading)  # until its end: it may print more
        for line in self._said:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                break
        else:
            raise AssertionError(self.log.read_text())
        until(self._answers)

    def _answers(self) -> bool:
        try:
            return self._http.get(f"{self.url}/healthz").is_success
        except httpx.TransportError:
            assert self.process is not None
            assert self.process.poll() is None, self.log.read_text()
            return False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send one request with the key."""
        headers = {"Authorization": f"Bearer {KEY}"} | options.pop("headers", {})
        return self._http.request(method, f"{self.url}{path}", headers=headers, **options)

    def client(self) -> Client:
        return Client(self.url, KEY, patience_s=PATIENCE_S)

    def kill(self) -> None:
        """Kill the server with SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self._wait()

    def stop(self) -> int:
        """End the server by SIGTERM and return its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self._wait()

    def _wait(self) -> int:
        assert self.process is not None
        code = self.process.wait(PATIENCE_S)
        self._said.close()
        return code

    def workers(self) -> list[int]:
        """Process ids of its workers."""
        assert self.process is not None
        text = Path(f"/proc/{self.process.pid}/task").iterdir()
        return [int(pid) for thread in text for pid in (thread / "children").read_text().split()]


def until(true: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Wait until `true()` holds; fail after many minutes."""
    deadline = time.monotonic() + patience_s
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def until_running(client: Client, run_id: str) -> None:
    """Wait until a run has done a step and has many more to do."""
    for event in client.events(run_id):
        assert event.kind not in {"finished", "failed", "cancelled"}, event
        if event.progress is not None and event.progress.done > 0:
            return
