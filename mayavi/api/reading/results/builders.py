"""`ResultBuilders`: a few processes that build pages and reports, so that the server keeps answering."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue

from mayavi.api.errors import ApiError
from mayavi.api.reading.answer_cache import AnswerCache
from mayavi.api.reading.results.result_task import ResultTask, prepare
from mayavi.errors import WorkerError
from mayavi.parallel.processes import Answer, Worker

PROCESSES = 2
MOST_WAITING = 64
PATIENCE_S = 240.0
"""Longest time of one result; a PDF of a long page takes a minute on a slow machine."""
MOST_BYTES = 48 * 2**20
"""Memory for results that are kept."""


class ResultBuilders:
    """Builds each result once, in at most `processes` processes, and keeps the latest results in memory.

    Processes start when the first result is asked for. One that takes longer than `patience_s` is ended.
    """

    def __init__(
        self, processes: int = PROCESSES, patience_s: float = PATIENCE_S, most_bytes: int = MOST_BYTES
    ) -> None:
        self._patience_s = patience_s
        self._kept: AnswerCache[bytes] = AnswerCache(most_bytes)
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="mayavi-builder")
        self._idle: SimpleQueue[Worker | None] = SimpleQueue()
        for _ in range(processes):
            self._idle.put(None)
        self._running: set[Worker] = set()
        self._closed = False
        self._lock = threading.Lock()
        self._building: dict[tuple[ResultTask, Hashable], Future[bytes]] = {}

    async def build(self, task: ResultTask, version: Hashable) -> bytes:
        """Return the result, from memory if one of the same `version` is kept. Raises what building it raises.

        503 if too many results wait, or this one takes too long.
        """
        key = (task, version)
        with self._lock:
            if (kept := self._kept.get(task, version)) is not None:
                return kept
            future, fresh = self._building.get(key), False
            if future is None:
                if len(self._building) >= MOST_WAITING:
                    raise ApiError(
                        503, "too many reports are being built", "try again in a moment", headers={"Retry-After": "5"}
                    )
                future = self._building[key] = self._threads.submit(self._execute, task)
                fresh = True
        if fresh:  # outside of the lock, because the callback may be called here and now
            future.add_done_callback(lambda done: self._finished(key, done))
        return await asyncio.shield(asyncio.wrap_future(future))

    def close(self) -> None:
        """End the processes, and with them what they build."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in list(self._running):
            worker.process.terminate()
        self._threads.shutdown(wait=True)
        for worker in list(self._running):
            self._stop(worker)

    def _execute(self, task: ResultTask) -> bytes:
        """Let a process build the result; a process that died is replaced once."""
        worker = self._idle.get()
        try:
            for last in (False, True):
                if self._closed:
                    raise ApiError(503, "the service is stopping")
                if worker is None:
                    worker = Worker(prepare, ())
                    self._running.add(worker)
                worker.assign(0, task)
                if not worker.connection.poll(self._patience_s):
                    self._stop(worker)
                    worker = None
                    raise ApiError(503, f"the {task.kind}'s report took longer than {self._patience_s:.0f} seconds")
                try:
                    answer: Answer = worker.connection.recv()
                except (EOFError, OSError):
                    self._stop(worker)
                    worker = None
                    if last:
                        raise WorkerError("the process that built the report died twice") from None
                    continue
                if answer.error is not None:
                    raise answer.error
                result: bytes = answer.value
                return result
            raise AssertionError("unreachable")
        finally:
            self._idle.put(worker)

    def _stop(self, worker: Worker) -> None:
        self._running.discard(worker)
        worker.stop(at_once=True)

    def _finished(self, key: tuple[ResultTask, Hashable], future: Future[bytes]) -> None:
        with self._lock:
            self._building.pop(key, None)
        if not future.cancelled() and future.exception() is None:
            self._kept.keep(*key, future.result())
