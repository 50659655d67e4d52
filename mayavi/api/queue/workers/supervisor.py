"""`Supervisor`: the thread that hands jobs to worker processes, watches their limits and replaces dead ones."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from pathlib import Path

from mayavi.api.models.jobs import JobStatus
from mayavi.api.queue.job import Job
from mayavi.api.queue.jobs import MOST_ATTEMPTS, JobQueue
from mayavi.api.queue.stored_runs import FoundRuns
from mayavi.api.queue.workers.task import Outcome, Ready, Report, Task
from mayavi.api.queue.workers.worker_process import WorkerProcess
from mayavi.api.settings import ServiceSettings
from mayavi.parallel.cores import available_cores
from mayavi.sim.store.database.segments import SegmentFolder
from mayavi.sim.store.discarding import hide_run

log = logging.getLogger(__name__)

TASKS_OF_A_WORKER = 300
"""Tasks after which a worker process is replaced, so that memory lost to fragmentation does not grow."""
CANCEL_GRACE_S = 1.0
_TICK_S = 0.25
_IDLE_TICK_S = 5.0
_STOP_S = 60.0
_RECONCILE_EVERY_S = 10.0
_LONGEST_PAUSE_S = 30.0


class Supervisor:
    """Executes the jobs of a queue in worker processes, in the order of their submission."""

    def __init__(
        self,
        queue: JobQueue,
        settings: ServiceSettings,
        store: Path,
        held: Sequence[int] = (),
        worker_died: Callable[[], None] = lambda: None,
        run_stored: Callable[[FoundRuns], None] = lambda _: None,
    ) -> None:
        self.queue, self.settings, self.store = queue, settings, store
        self._worker_died, self._run_stored = worker_died, run_stored
        self.workers: list[WorkerProcess] = []
        self._held = tuple(held)
        self._threads = max(1, available_cores() // max(1, settings.workers))
        self._tidy: deque[Task] = deque()
        self._inherited: set[str] = set()
        """Runs that were submitted before this start. One that a backup shows as waiting may be stored already."""
        self._stopping = False
        self._paused_until, self._pause_s = 0.0, 1.0
        self._reconcile_at = 0.0
        self._alarm, self._bell = socket.socketpair()
        self._bell.setblocking(False)
        self._unsubscribe = queue.subscribe(self._wake)
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)

    def start(self) -> None:
        """Start the thread and, in it, the worker processes."""
        self._thread.start()

    def stop(self) -> None:
        """End the worker processes; their jobs are queued again."""
        self._unsubscribe()
        self._stopping = True
        self._wake("")
        self._thread.join(_STOP_S)
        self._alarm.close()
        self._bell.close()

    @property
    def ready_workers(self) -> int:
        """Number of worker processes that can take a job or have one."""
        return sum(worker.ready for worker in self.workers) if self._thread.is_alive() else 0

    # -- the thread ---------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._inherited = {job.job_id for job in self.queue.jobs("run", active=True)}
            self._tidy.extend(self._leftover_tasks())
            while not self._stopping:
                try:
                    self._turn()
                except Exception:  # a full disk, a locked database: jobs wait until it works again
                    log.exception("the queue cannot be worked on now")
                    time.sleep(1.0)
        finally:
            for worker in self.workers:
                if worker.job is not None and worker.outcome is None:
                    worker.kill()
                    with suppress(Exception):
                        if not self.queue.is_cancelled(worker.job.job_id):  # else the next start ends it
                            self.queue.requeue(worker.job.job_id, "the server stopped", counted=False)
            for worker in self.workers:
                if worker.job is None or worker.outcome is not None:
                    worker.stop()
            self.workers = []

    def _reconcile(self) -> None:
        """Queue jobs again that are marked as running and have no worker: those of a server that was killed.

        After the start there are none, unless the queue could not be written when a worker died.
        """
        self._reconcile_at = time.monotonic() + _RECONCILE_EVERY_S
        executed = {worker.job.job_id for worker in self.workers if worker.job is not None}
        for job in self.queue.unfinished():
            if job.job_id in executed:
                continue
            if job.status == "cancelling":
                self._end(job, "cancelled")
            else:
                self.queue.requeue(job.job_id, "the server was stopped in the middle", counted=False)

    def _leftover_tasks(self) -> list[Task]:
        """Return tasks that delete what a killed server left in the store of jobs that have ended."""
        found = []
        for live in SegmentFolder(self.store).live_runs():
            job = None if live.alive else self.queue.job(live.run_id)
            if job is not None and job.status in {"cancelled", "failed"}:
                found.append(self._tidying(job))
        return found

    def _turn(self) -> None:
        if time.monotonic() >= self._reconcile_at:
            self._reconcile()
        self._start_workers()
        self._assign()
        busy = any(worker.task is not None for worker in self.workers)
        paused = len(self.workers) < self.settings.workers
        by_connection = {worker.connection: worker for worker in self.workers}
        for found in wait([*by_connection, self._alarm], _TICK_S if busy or paused else _IDLE_TICK_S):
            if found is self._alarm:
                self._alarm.recv(4096)
            else:
                self._read_message(by_connection[found])  # type: ignore[index]
        for worker in list(self.workers):
            if worker.outcome is not None:
                self._store_outcome(worker, worker.outcome)
            elif worker.job is not None:
                self._watch(worker, worker.job)

    def _start_workers(self) -> None:
        """Start the missing worker processes; after one that died while starting, only after a pause."""
        while len(self.workers) < self.settings.workers and time.monotonic() >= self._paused_until:
            self.workers.append(
                WorkerProcess(threads=self._threads, memory_mb=self.settings.job_memory_mb, held=self._held)
            )

    def _assign(self) -> None:
        for worker in self.workers:
            if not worker.idle:
                continue
            if self._tidy:
                worker.assign(self._tidy.popleft(), None)
            elif (job := self.queue.claim()) is not None:
                task = Task(
                    job_id=job.job_id,
                    kind=job.kind,
                    submission=job.submission,
                    store=self.store,
                    repeated=job.job_id in self._inherited or self.queue.starts(job.job_id) > 1,
                    threads=self._threads,
                    ray=self.settings.ray,
                )
                worker.assign(task, job)

    def _read_message(self, worker: WorkerProcess) -> None:
        """Read one message of a worker."""
        try:
            message = worker.connection.recv()
        except (EOFError, OSError):
            self._replace_dead(worker)
            return
        if isinstance(message, Ready):
            worker.ready, self._pause_s = True, 1.0
        elif isinstance(message, Report) and worker.job is not None:
            if worker.job.kind == "sweep":  # each of its runs has the whole time
                worker.moved_at = time.monotonic()
            self.queue.report(worker.job.job_id, *message)
        elif isinstance(message, Outcome):
            worker.outcome = message

    def _store_outcome(self, worker: WorkerProcess, outcome: Outcome) -> None:
        """Store the end of a task; if that is impossible now, the next turn tries again."""
        if worker.job is not None:
            if outcome.found is not None:
                self._run_stored(outcome.found)
            self.queue.end(worker.job.job_id, outcome.status, outcome.error)
        worker.done()
        if worker.jobs_done >= TASKS_OF_A_WORKER:
            self.workers.remove(worker)
            worker.stop()

    def _watch(self, worker: WorkerProcess, job: Job) -> None:
        """End a job that is cancelled or beyond a limit."""
        now, settings = time.monotonic(), self.settings
        if worker.cancelled_at is None and self.queue.is_cancelled(job.job_id):
            worker.cancel()
        elif worker.cancelled_at is not None and now - worker.cancelled_at > CANCEL_GRACE_S:
            self._end_by_force(worker, job, "cancelled", "")
        elif now - worker.moved_at > settings.job_seconds:
            what = "a run" if job.kind == "run" else "a run of a sweep"
            self._end_by_force(
                worker,
                job,
                "failed",
                f"the time limit of {settings.job_seconds:,.6g} s for {what} is over\n"
                "give it fewer steps or agents, or start the server with a higher `--job-seconds`",
            )
        elif (used := worker.resident_bytes()) > settings.job_memory_mb * 2**20:
            self._end_by_force(
                worker,
                job,
                "failed",
                f"the job used {used / 2**20:,.0f} MiB of memory, and the limit is {settings.job_memory_mb:,} MiB\n"
                "give it fewer steps or agents, or start the server with a higher `--job-memory-mb`",
            )

    def _end_by_force(self, worker: WorkerProcess, job: Job, status: JobStatus, error: str) -> None:
        self.workers.remove(worker)
        worker.kill()
        self._end(job, status, error)

    def _replace_dead(self, worker: WorkerProcess) -> None:
        """Replace a worker that died. Its job is queued again, or fails after `MOST_ATTEMPTS` attempts."""
        self.workers.remove(worker)
        code = worker.kill()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        log.warning("a worker process ended with %s", how)
        self._worker_died()
        if not worker.ready:
            self._paused_until = time.monotonic() + self._pause_s
            self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        job = worker.job
        if job is None:
            if worker.task is not None:
                self._tidy.append(worker.task)
        elif self.queue.is_cancelled(job.job_id):
            self._end(job, "cancelled")
        elif job.attempts >= MOST_ATTEMPTS:
            self._end(
                job,
                "failed",
                f"the worker process died {job.attempts} times while it executed the job, the last time with {how}\n"
                "signal 9 often means out of memory: use fewer agents or steps",
            )
        else:
            self.queue.requeue(job.job_id, f"the worker process died with {how}")

    def _end(self, job: Job, status: JobStatus, error: str = "") -> None:
        """Hide the rows that a dead worker left of a job, store the job's end, and let another worker delete them."""
        if job.kind == "run":
            hide_run(self.store, job.job_id)
        self.queue.end(job.job_id, status, error)
        self._tidy.append(self._tidying(job))

    def _tidying(self, job: Job) -> Task:
        return Task(job_id=job.job_id, kind=job.kind, action="tidy", store=self.store)

    def _wake(self, job_id: str) -> None:
        """Wake the supervisor's thread from another thread."""
        if threading.current_thread() is not self._thread:
            with suppress(OSError):  # a full buffer wakes it too
                self._bell.send(b"!")
