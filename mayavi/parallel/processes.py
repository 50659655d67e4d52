"""Pool of worker processes that prepare once and then execute tasks.

A worker is a new interpreter, never a fork. It does not import the caller's script, so scripts need no
`if __name__ == "__main__"`. When the parent dies, even by SIGKILL, the connection closes and the worker exits at once.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, TypeVar, cast

from mayavi.errors import MayaviError, UsageError, WorkerError

T = TypeVar("T")
R = TypeVar("R")

ONE_THREAD = dict.fromkeys(("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Environment variables of workers: one thread each, because there may be one worker per core."""

_ATTEMPTS = 2
_STOP_S = 10.0
_START = """
import sys
from mayavi.startup.process import prepare_process
prepare_process("worker")
from mayavi.parallel.processes import serve
serve(int(sys.argv[1]))
"""


class Answer(NamedTuple):
    """Result of a task: a value or an error."""

    value: Any = None
    error: MayaviError | None = None


def check_jobs(jobs: int) -> int:
    """Return `jobs`; raise `UsageError` unless it is an integer from 1 to 1024."""
    if type(jobs) is not int or not 1 <= jobs <= 1024:
        raise UsageError(f"{jobs} is not a number of processes", "give an integer from 1 to 1024")
    return jobs


class Worker:
    """Worker process and the connection to it."""

    def __init__(self, prepare: Callable[..., Callable[[Any], Any]], arguments: tuple[Any, ...]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _START, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=2,  # agents may print; keep that out of our stdout
                env=os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                process_group=0,  # Ctrl-C reaches only the parent, which then stops the workers
            )
        self.connection = Connection(ours.detach())
        self.number = -1
        self.task: Any = None
        self._interrupted = False
        self.connection.send((prepare, arguments))

    def assign(self, number: int, task: Any) -> None:
        """Send `task`, identified by `number`, to the worker."""
        self.number, self.task = number, task
        with suppress(OSError):  # a dead worker is noticed when its connection is read
            self.connection.send(task)

    def interrupt(self) -> None:
        """Interrupt the task as Ctrl-C would: what it keeps on the way out is kept. The process then ends."""
        if not self._interrupted:
            self.process.terminate()
        self._interrupted = True

    def stop(self, *, at_once: bool) -> None:
        """Stop the process; `at_once` interrupts its task."""
        if at_once:
            self.interrupt()
        else:
            with suppress(OSError):
                self.connection.send(None)
        try:
            self.process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.connection.close()


def work_off(
    tasks: Iterable[T], prepare: Callable[..., Callable[[T], R]], arguments: tuple[Any, ...], jobs: int
) -> Iterator[tuple[T, R]]:
    """Execute tasks on `jobs` processes; yield each task with its result as it completes.

    Tasks are taken from `tasks` when a process is free. `prepare(*arguments)` runs once in each process and returns
    the function that executes a task. It must be a module-level function, and tasks and results must be picklable. An
    exception in a task is raised in the caller. The task of a killed process is retried once in a new process. Closing
    the iterator early interrupts the tasks that are under way, with a `KeyboardInterrupt`, and ends the processes.
    """
    numbered = enumerate(tasks)
    waiting = deque(islice(numbered, check_jobs(jobs)))
    attempts: dict[int, int] = {}
    workers: list[Worker] = []
    finished = False
    try:
        workers += [Worker(prepare, arguments) for _ in waiting]
        for worker in workers:
            worker.assign(*waiting.popleft())
        busy = list(workers)
        while busy:
            for connection in wait([worker.connection for worker in busy]):
                worker = next(each for each in busy if each.connection is connection)
                answer = _receive(worker)
                if answer is None:
                    waiting.appendleft((worker.number, worker.task))
                    _count_attempt(attempts, worker)
                    workers.remove(worker)
                    busy.remove(worker)
                    worker.stop(at_once=True)
                    worker = Worker(prepare, arguments)
                    workers.append(worker)
                    busy.append(worker)
                elif answer.error is not None:
                    raise answer.error
                else:
                    yield worker.task, cast(R, answer.value)
                waiting.extend(islice(numbered, 0 if waiting else 1))
                if waiting:
                    worker.assign(*waiting.popleft())
                else:
                    busy.remove(worker)
        finished = True
    finally:
        for worker in workers if not finished else ():
            worker.interrupt()  # all of them, before the first is waited for
        for worker in workers:
            worker.stop(at_once=not finished)


def _receive(worker: Worker) -> Answer | None:
    """Receive an answer; None if the worker died."""
    try:
        answer = worker.connection.recv()
    except (EOFError, OSError):
        return None
    return cast(Answer, answer)


def _count_attempt(attempts: dict[int, int], worker: Worker) -> None:
    attempts[worker.number] = attempts.get(worker.number, 0) + 1
    if attempts[worker.number] < _ATTEMPTS:
        return
    code = worker.process.wait()
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    raise WorkerError(
        f"two worker processes died while they worked on {worker.task}, the last with {how}",
        "signal 9 often means out of memory: fewer --jobs need less",
    )


# -- in the worker ----------------------------------------------------------------------------------------------------


def serve(descriptor: int) -> None:
    """Main loop of a worker process: prepare, then execute tasks."""
    signal.signal(signal.SIGTERM, _interrupt)
    connection = Connection(descriptor)
    threading.Thread(target=_exit_with_parent, args=(descriptor,), daemon=True).start()
    work: Callable[[Any], Any] | None = None
    try:
        prepare, arguments = connection.recv()
        while (task := connection.recv()) is not None:
            try:
                if work is None:
                    work = prepare(*arguments)
                answer = Answer(work(task))
            except MayaviError as error:
                answer = Answer(error=as_picklable(error))
            except Exception as error:
                answer = Answer(error=_unexpected(error))
            connection.send(answer)
    except (EOFError, KeyboardInterrupt):
        return


def _interrupt(*_: object) -> None:
    """Interrupt the task; a second signal ends the process."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise KeyboardInterrupt


def _exit_with_parent(descriptor: int) -> None:
    poller = select.poll()
    poller.register(descriptor, select.POLLHUP)
    while not any(event & (select.POLLHUP | select.POLLNVAL) for _, event in poller.poll()):
        pass
    os._exit(1)


def as_picklable(error: MayaviError) -> MayaviError:
    """Return `error`, or a `WorkerError` with its text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return WorkerError(str(error), error.hint)
    return error


def _unexpected(error: Exception) -> WorkerError:
    trace = "".join(traceback.format_exception(error)).rstrip()
    return WorkerError(f"a worker process raised {type(error).__name__}: {error}", trace)
