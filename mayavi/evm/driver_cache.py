"""Kernels that other processes compile into the cache of the CUDA driver, while this one's kernels run.

A driver that compiles stops all kernels of its process. What another process compiled is read from the driver's cache
on disk in milliseconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock

from mayavi import _kernel

MOST_PROCESSES = 4
"""Processes at once: each holds some hundred megabytes of the device's memory."""
KERNEL = "step"
"""Name of the kernel in every text."""


class CacheFiller:
    """Starts the processes that compile for a device, and stops them."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.stopped = False
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = Lock()

    def fill(self, texts: Sequence[str]) -> list[str]:
        """Compile each text in a process of its own, and return what went wrong.

        A kernel that is not in the cache afterwards is compiled when it is loaded.
        """
        if os.environ.get("CUDA_CACHE_DISABLE") == "1" or not texts:
            return []
        with ThreadPoolExecutor(min(MOST_PROCESSES, os.cpu_count() or 1)) as pool:
            return [error for error in pool.map(self._compile, texts) if error]

    def stop(self) -> None:
        """Stop all processes for good."""
        with self._lock:
            self.stopped = True
            for process in self._running:
                process.kill()

    def _compile(self, text: str) -> str:
        command = [sys.executable, "-m", __name__, self.device]
        with self._lock:
            if self.stopped:
                return "stopped"
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
            self._running.add(process)
        with process:
            told = process.communicate(text)[1].strip()
        with self._lock:
            self._running.discard(process)
        return told if process.returncode else ""


def main(device: str) -> int:
    """Compile the kernel that standard input has."""
    try:
        _kernel.compile_kernel(sys.stdin.read(), KERNEL, device)
    except _kernel.DeviceError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main(sys.argv[1]))
