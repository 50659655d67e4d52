"""`WorkerProcess`: a worker process as the supervisor sees it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection

from mayavi.api.queue.job import Job
from mayavi.api.queue.workers.memory import resident_bytes
from mayavi.api.queue.workers.task import Cancel, Outcome, Task
from mayavi.parallel.processes import ONE_THREAD

_START = """
import sys
from mayavi.startup.process import prepare_process
prepare_process("service-worker")
from mayavi.api.queue.workers.worker import serve
serve(*map(int, sys.argv[1:4]))
"""
_STOP_S = 5.0
_SECRETS = ("MAYAVI_API_KEY",)


class WorkerProcess:
    """A new interpreter, never a fork, that executes one task at a time.

    `held` are descriptors that it keeps open, such as the data folder's lock: after a crash the next server gets
    the lock when the workers of the last one are gone.
    """

    def __init__(self, *, threads: int, memory_mb: int, held: Sequence[int] = ()) -> None:
        ours, theirs = socket.socketpair()
        environment = {name: value for name, value in os.environ.items() if name not in _SECRETS}
        environment |= dict.fromkeys(ONE_THREAD, str(threads))
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _START, str(theirs.fileno()), str(os.getpid()), str(2 * memory_mb + 2048)],
                pass_fds=[theirs.fileno(), *held],
                stdin=subprocess.DEVNULL,
                stdout=2,
                env=environment,
                process_group=0,
            )
        self.connection = Connection(ours.detach())
        self.ready = False
        self.jobs_done = 0
        self.task: Task | None = None
        self.job: Job | None = None
        self.moved_at = 0.0
        """Time from which the time limit counts."""
        self.cancelled_at: float | None = None
        self.outcome: Outcome | None = None
        """End of the task, until the queue has stored it."""

    @property
    def idle(self) -> bool:
        """Whether it waits for a task."""
        return self.ready and self.task is None

    def assign(self, task: Task, job: Job | None) -> None:
        """Send a task."""
        self.task, self.job = task, job
        self.moved_at, self.cancelled_at = time.monotonic(), None
        with suppress(OSError):  # a dead worker is noticed when its connection is read
            self.connection.send(task)

    def done(self) -> None:
        """Note that the task is over."""
        self.task, self.job, self.cancelled_at, self.outcome = None, None, None, None
        self.jobs_done += 1

    def cancel(self) -> None:
        """Ask for the end of the task, once."""
        if self.task is not None and self.cancelled_at is None:
            self.cancelled_at = time.monotonic()
            with suppress(OSError):
                self.connection.send(Cancel(self.task.job_id))

    def resident_bytes(self) -> int:
        """Return its memory, children included."""
        return resident_bytes(self.process.pid)

    def kill(self) -> int:
        """Kill the process and its children, and return the exit code; negative: the signal that ended it before."""
        with suppress(ProcessLookupError, PermissionError):
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
        code = self.process.wait()
        self.connection.close()
        return code

    def stop(self) -> None:
        """Ask an idle process to end, and kill it if it does not."""
        with suppress(OSError):
            self.connection.send(None)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_STOP_S)
        self.kill()
