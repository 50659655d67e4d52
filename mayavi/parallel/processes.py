"""Worker processes: each is started fresh, prepares once, and then works tasks off until there are none.

A worker is a new interpreter, never a fork of this process, and it does not import the caller's script. It lives no
longer than its parent: when that is killed, its end of the line closes, and the worker ends at once.
"""

from __future__ import annotations

import os
import pickle
import select
import socket
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, TypeVar, cast

from mayavi.errors import MayaviError, UsageError, WorkerError

T = TypeVar("T")
R = TypeVar("R")

ONE_THREAD = dict.fromkeys(("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""As many workers as cores: a worker that starts threads of its own takes them from the others."""

_ATTEMPTS = 2
_STOP_S = 10.0
_START = "import sys; from mayavi.parallel.processes import serve; serve(int(sys.argv[1]))"


class Answer(NamedTuple):
    """What a worker sends back: a value, or the error it ended with and the traceback."""

    value: Any = None
    error: MayaviError | None = None


def check_jobs(jobs: int) -> int:
    """`jobs`, or an error where that is no number of processes."""
    if type(jobs) is not int or not 1 <= jobs <= 1024:
        raise UsageError(f"{jobs} jobs cannot run anything", "give a number of processes from 1 to 1024")
    return jobs


def default_jobs() -> int:
    """As many as there are cores for this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Worker:
    """One process, and the line to it."""

    def __init__(self, prepare: Callable[..., Callable[[Any], Any]], arguments: tuple[Any, ...]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _START, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=2,  # what an agent prints does not belong among our results
                env=os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                process_group=0,  # an interruption of the terminal reaches the parent alone, which then ends us
            )
        self.line = Connection(ours.detach())
        self.number = -1
        self.task: Any = None
        self.line.send((prepare, arguments))

    def give(self, number: int, task: Any) -> None:
        """Let it work on `task`, the one with that number."""
        self.number, self.task = number, task
        with suppress(OSError):  # it is gone, and whoever listens to the line learns it
            self.line.send(task)

    def stop(self, *, at_once: bool) -> None:
        """End the process; `at_once` in the middle of its work."""
        if at_once:
            self.process.terminate()
        else:
            with suppress(OSError):
                self.line.send(None)
        try:
            self.process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.line.close()


def work_off(
    tasks: Iterable[T], prepare: Callable[..., Callable[[T], R]], arguments: tuple[Any, ...], jobs: int
) -> Iterator[tuple[T, R]]:
    """Each task and what became of it, as they get done, on `jobs` processes.

    `prepare(*arguments)` runs once in each process and returns what works on a task; it is a function of a module, and
    tasks and results can be pickled. An error of a task is raised here. A task whose process was killed is given to a
    new one; the second time it is an error. Whoever leaves the loop early ends the processes at once.
    """
    waiting = deque(enumerate(tasks))
    if not waiting:
        return
    attempts: dict[int, int] = {}
    workers: list[Worker] = []
    finished = False
    try:
        workers += [Worker(prepare, arguments) for _ in range(min(check_jobs(jobs), len(waiting)))]
        for worker in workers:
            worker.give(*waiting.popleft())
        busy = list(workers)
        while busy:
            for line in wait([worker.line for worker in busy]):
                worker = next(each for each in busy if each.line is line)
                answer = _received(worker)
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
                if waiting:
                    worker.give(*waiting.popleft())
                else:
                    busy.remove(worker)
        finished = True
    finally:
        for worker in workers:
            worker.stop(at_once=not finished)


def _received(worker: Worker) -> Answer | None:
    """What the worker says; None when it is gone."""
    try:
        answer = worker.line.recv()
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
        f"a worker process ended with {how} while it worked on {worker.task}, and so did the one before it",
        "a process killed by signal 9 often ran out of memory: fewer --jobs need less",
    )


# -- in the worker ----------------------------------------------------------------------------------------------------


def serve(descriptor: int) -> None:
    """What a worker process does: prepare, and then one task after the other."""
    line = Connection(descriptor)
    threading.Thread(target=_end_with_parent, args=(descriptor,), daemon=True).start()
    work: Callable[[Any], Any] | None = None
    try:
        prepare, arguments = line.recv()
        while (task := line.recv()) is not None:
            try:
                if work is None:
                    work = prepare(*arguments)
                answer = Answer(work(task))
            except MayaviError as error:
                answer = Answer(error=portable(error))
            except Exception as error:
                answer = Answer(error=_broken(error))
            line.send(answer)
    except EOFError:
        return


def _end_with_parent(descriptor: int) -> None:
    poller = select.poll()
    poller.register(descriptor, select.POLLHUP)
    while not any(event & (select.POLLHUP | select.POLLNVAL) for _, event in poller.poll()):
        pass
    os._exit(1)


def portable(error: MayaviError) -> MayaviError:
    """`error`, or its words alone where it cannot travel to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return WorkerError(str(error), error.hint)
    return error


def _broken(error: Exception) -> WorkerError:
    told = "".join(traceback.format_exception(error)).rstrip()
    return WorkerError(f"a worker process ran into {type(error).__name__}: {error}", told)
