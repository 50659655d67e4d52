"""`mayavi serve` as a process on loopback, which can be asked, stopped, killed and started again."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import httpx

PATIENCE_S = 300.0
"""Longest wait for anything; it only ends what hangs."""
PAUSE_S = 0.05
ENDED = {"finished", "failed", "cancelled", "halted", "interrupted"}
TINY = {"scenario": "aave_borrower", "steps": 2}
"""Submission of a run that takes a fraction of a second."""


class ServiceProcess:
    """A service in `folder` with a key of its own. A restart keeps port, key and data."""

    def __init__(
        self, folder: Path, *options: str, store: Path | None = None, environment: dict[str, str] | None = None
    ) -> None:
        self.folder = folder
        self.store = store or folder / "runs.duckdb"
        self.options = options
        self.environment = environment or {}
        self.key = f"bench-{secrets.token_urlsafe(24)}"
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def url(self) -> str:
        """Address of the service."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """Output of all starts."""
        return self.folder / "serve.log"

    @property
    def pid(self) -> int:
        """Process id of the server."""
        if self.process is None:
            raise RuntimeError("the service was not started")
        return self.process.pid

    def __enter__(self) -> ServiceProcess:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server and wait until it is ready."""
        self.launch()
        wait_for(self.is_ready, f"the service to be ready; it wrote: {self.tail()}")

    @property
    def arguments(self) -> list[str]:
        """Arguments of the command `mayavi`."""
        places = ["--port", str(self.port), "--store", str(self.store), "--data", str(self.folder / "service")]
        return ["serve", *places, *self.options]

    def launch(self) -> None:
        """Start the server without waiting."""
        command = [sys.executable, "-m", "mayavi", *self.arguments]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=os.environ | {"MAYAVI_API_KEY": self.key} | self.environment,
                start_new_session=True,
            )

    def is_ready(self) -> bool:
        """Whether `/readyz` agrees; raise if the process has ended."""
        if self.process is not None and self.process.poll() is not None:
            raise RuntimeError(f"the service ended with {self.process.returncode}: {self.tail()}")
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/readyz", timeout=PATIENCE_S, verify=False).status_code == 200
        return False

    def tail(self) -> str:
        """Return the end of the log."""
        return self.log.read_text(encoding="utf-8", errors="replace")[-2000:] if self.log.exists() else ""

    def stop(self) -> None:
        """Ask the server to end and wait; what is left of its processes is killed."""
        process, self.process = self.process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def kill(self) -> None:
        """Kill the server alone, as the system does when memory is short; its workers find out by themselves."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait(PATIENCE_S)

    def workers(self) -> list[int]:
        """Return the process ids of its workers."""
        return [pid for pid in children_of(self.pid) if "mayavi.api.queue.workers.worker" in command_of(pid)]

    def memory_mb(self) -> float:
        """Return the resident memory of the server process, without workers."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def cpu_s(self) -> float:
        """Return the CPU time of the server process so far, without workers."""
        return cpu_fields(self.pid)[0]

    def workers_cpu_s(self) -> float:
        """Return the CPU time so far of all workers, those included that have ended."""
        return cpu_fields(self.pid)[1] + sum(cpu_fields(pid)[0] for pid in self.workers())

    def client(self, **options: Any) -> httpx.Client:
        """Return a client with the key."""
        return httpx.Client(base_url=self.url, headers=self.headers, timeout=PATIENCE_S, verify=False, **options)

    @property
    def headers(self) -> dict[str, str]:
        """Headers that carry the key."""
        return {"Authorization": f"Bearer {self.key}"}

    def submit(self, client: httpx.Client, **submission: object) -> str:
        """Queue a run and return its id."""
        answer = client.post("/runs", json=TINY | submission)
        answer.raise_for_status()
        return cast(str, answer.json()["run_id"])

    def wait_for_runs(self, client: httpx.Client, run_ids: list[str]) -> dict[str, str]:
        """Wait until all runs have ended; return their statuses."""

        found: dict[str, str] = {}

        def ended() -> dict[str, str] | None:
            for run_id in run_ids:
                if found.get(run_id) not in ENDED:
                    found[run_id] = client.get(f"/runs/{run_id}").raise_for_status().json()["status"]
                    if found[run_id] not in ENDED:
                        return None  # and the next ones wait behind it
            return found

        return cast("dict[str, str]", wait_for(ended, f"{len(run_ids)} runs to end; the log ends with: {self.tail()}"))

    def wait_for_sweep(self, client: httpx.Client, sweep_id: str) -> str:
        """Wait until a sweep has ended; return its status."""

        def ended() -> str | None:
            status: str = client.get(f"/sweeps/{sweep_id}").raise_for_status().json()["status"]
            return status if status in ENDED else None

        return cast(str, wait_for(ended, f"the sweep {sweep_id} to end; the log ends with: {self.tail()}"))


def wait_for(condition: Any, what: str, patience_s: float = PATIENCE_S) -> Any:
    """Call `condition` until it returns something true, and return that."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(PAUSE_S)
    raise TimeoutError(f"waited in vain for {what}")


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def children_of(pid: int) -> list[int]:
    """Return the child processes of a process."""
    found: list[int] = []
    for each in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(word) for word in each.read_text(encoding="utf-8").split()]
    return found


def command_of(pid: int) -> str:
    """Return the command line of a process; empty if it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def cpu_fields(pid: int) -> tuple[float, float]:
    """Return the CPU time of a process and of its children that have ended; zeros if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0, 0.0
    own, children = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    return own / os.sysconf("SC_CLK_TCK"), children / os.sysconf("SC_CLK_TCK")
