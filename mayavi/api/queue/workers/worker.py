"""Main loop of a worker process: one task at a time, until its server is gone."""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from mayavi.api.queue.workers.task import Cancel, Outcome, Ready, Report, Task

REPORT_EVERY_S = 0.2
MERGE_AFTER_S = 0.3
MERGE_PATIENCE_S = 2.0
MOST_UNMERGED = 8
NICENESS = 5
"""Priority below that of the server, so that readers are answered while runs use all processors."""
_PR_SET_PDEATHSIG = 1


def serve(descriptor: int, parent: int, data_mb: int) -> None:
    """Execute tasks that arrive over the socket `descriptor`; `parent` is the process id of the server."""
    end_with_parent(parent)
    limit_resources(data_mb)
    os.nice(NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then stops its workers
    from mayavi.api.queue.workers.execution import execute_task

    connection = Connection(descriptor)
    tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
    cancelled: set[str] = set()
    threading.Thread(target=_receive, args=(connection, tasks, cancelled), daemon=True).start()
    connection.send(Ready(os.getpid()))
    merges = DeferredMerges()
    while (task := merges.next_task(tasks)) is not None:
        reports = ThrottledReports(connection)
        try:
            outcome = execute_task(task, reports.send, partial(cancelled.__contains__, task.job_id))
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            outcome = Outcome("failed", f"unexpected {type(error).__name__}: {error}\nthis is a bug in mayavi")
        reports.flush()
        cancelled.discard(task.job_id)
        connection.send(outcome)
        merges.note(task.store)


class DeferredMerges:
    """Merge the rows of runs into the database when no task waits, or after many runs.

    A merge takes longer than a short run. Readers of the store see the rows before it as well.
    """

    def __init__(self) -> None:
        self._store: Path | None = None
        self._waiting = 0

    def note(self, store: Path) -> None:
        """Note that a task wrote rows to `store`; merge if many have."""
        self._store = store
        self._waiting += 1
        if self._waiting >= MOST_UNMERGED:
            self._merge()

    def next_task(self, tasks: queue.SimpleQueue[Task | None]) -> Task | None:
        """Wait for the next task, and merge if none arrives at once; None: the worker ends."""
        if self._waiting:
            try:
                task = tasks.get(timeout=MERGE_AFTER_S)
            except queue.Empty:
                self._merge()
            else:
                if task is None:
                    self._merge()
                return task
        return tasks.get()

    def _merge(self) -> None:
        from mayavi.sim.store.database.merging import merge

        self._waiting = 0
        if self._store is not None:
            try:
                merge(self._store, patience_s=MERGE_PATIENCE_S)
            except Exception:  # the rows wait for the next merge
                traceback.print_exc(file=sys.stderr)


class ThrottledReports:
    """Send at most five reports a second; changes of the phase and the last report are always sent."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sent_at = 0.0
        self._phase = ""
        self._waiting: Report | None = None

    def send(self, report: Report) -> None:
        """Send a report now, or keep it until `flush` or a later one."""
        now = time.monotonic()
        if report.phase == self._phase and now - self._sent_at < REPORT_EVERY_S:
            self._waiting = report
            return
        self._connection.send(report)
        self._sent_at, self._phase, self._waiting = now, report.phase, None

    def flush(self) -> None:
        """Send the last report."""
        if self._waiting is not None:
            self._connection.send(self._waiting)
            self._waiting = None


def _receive(connection: Connection, tasks: queue.SimpleQueue[Task | None], cancelled: set[str]) -> None:
    """Receive tasks and cancellations; end the process at once when the server is gone."""
    try:
        while True:
            message = connection.recv()
            if isinstance(message, Cancel):
                cancelled.add(message.job_id)
            else:
                tasks.put(message)
                if message is None:
                    return
    except (EOFError, OSError):
        os._exit(1)


def end_with_parent(parent: int) -> None:
    """Let Linux kill this process when the server dies, even in the middle of a long call of the kernel."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the call
            os._exit(1)


def limit_resources(data_mb: int) -> None:
    """Write no core dumps, and refuse allocations far beyond the memory limit, which the server watches."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(ValueError, OSError):
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        limit = data_mb * 2**20
        resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))
