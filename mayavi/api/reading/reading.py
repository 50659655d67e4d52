"""`Reading`: data sources of the routes: the index of runs, cached answers, and processes that build reports."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from fastapi.concurrency import run_in_threadpool

from mayavi.api.queue.jobs import JobQueue
from mayavi.api.reading.answer_cache import AnswerCache
from mayavi.api.reading.ids import unknown
from mayavi.api.reading.kept_answer import KeptAnswer
from mayavi.api.reading.results.builders import ResultBuilders
from mayavi.api.reading.results.result_task import ResultFormat, ResultKind, ResultTask
from mayavi.api.reading.runs.action_search import ActionSearch
from mayavi.api.reading.runs.bodies import IndexedRun
from mayavi.api.reading.runs.details import details_of
from mayavi.api.reading.runs.index import RunIndex, Runs
from mayavi.api.reading.runs.job_mirror import JobMirror
from mayavi.api.reading.runs.sweep_index import IndexedSweep, sweep_details
from mayavi.api.reading.shared_work import SharedWork
from mayavi.sim.store import Store

_DETAILS_BYTES, _LASTING_BYTES = 32 * 2**20, 4 * 2**20
_RUNS, _STORE = "/runs/", "store"
_MAKE_A_RUN = "no run is stored here; `POST /runs` or `mayavi run SCENARIO` makes one"


class Reading:
    """Everything behind the reading routes of one service."""

    def __init__(self, store: Store, queue: JobQueue, models: Path) -> None:
        self.store, self.queue, self.models = store, queue, models
        self.jobs = JobMirror(queue)
        self.index = RunIndex(store, self.jobs)
        self.lasting: AnswerCache[KeptAnswer] = AnswerCache(_LASTING_BYTES)
        """Answers that stay right as long as the service runs."""
        self._details: AnswerCache[KeptAnswer] = AnswerCache(_DETAILS_BYTES)
        self._reads: SharedWork[Runs] = SharedWork()
        self._made: SharedWork[KeptAnswer] = SharedWork()
        self.builders = ResultBuilders()
        self.action_search = ActionSearch()
        self._refresher = ThreadPoolExecutor(1, thread_name_prefix="mayavi-index")

    def kept(self, path: str, query: bytes) -> KeptAnswer | None:
        """Return the answer to a request from memory, if it was made before and is still right."""
        name = path, query
        if (lasting := self.lasting.get(name)) is not None:
            return lasting
        runs = self._current()
        if runs is None:
            return None
        if (found := runs.answers.get(name)) is not None:
            return found
        run = runs.by_id.get(path.removeprefix(_RUNS))
        return None if run is None else self._details.get(run.run_id, run)

    async def runs(self, *, at_once: bool = False) -> Runs:
        """Return all runs as they are now, or as they were at a later moment than that of the call.

        Of callers who come while the store is read, all wait for the next reading together.
        """
        found = self._current(at_once=at_once)
        if found is not None:
            return found
        if (earlier := self._reads.under_way(_STORE)) is not None:
            await asyncio.wait({earlier})
            if (found := self.index.current(at_once=at_once)) is not None:
                return found
        return await self._reads.do(_STORE, self._refreshed)

    def _current(self, *, at_once: bool = False) -> Runs | None:
        """Return the runs from memory, and let the store be read in the background if that is due."""
        found = self.index.current(at_once=at_once)
        if found is not None and self._reads.under_way(_STORE) is None and self.index.is_due():
            self._reads.begin(_STORE, self._refreshed)
        return found

    async def _refreshed(self) -> Runs:
        loop = asyncio.get_running_loop()
        return self.index.take(await loop.run_in_executor(self._refresher, self.index.reader()))

    async def run(self, run_id: str) -> IndexedRun:
        """Return a run by its full id; 404 with the nearest id."""
        runs = await self.runs()
        if run_id not in runs.by_id:
            runs = await self.runs(at_once=True)
            if run_id not in runs.by_id:
                raise unknown("run", run_id, runs.by_id, _MAKE_A_RUN)
        return runs.by_id[run_id]

    async def run_details(self, run_id: str) -> KeptAnswer:
        """Return the details of a run; 404 for an unknown run."""
        run = await self.run(run_id)
        answer = self._details.get(run_id, run)
        if answer is None:
            answer = await self._made.do(run, partial(self._make_details, run))
        return answer

    async def _make_details(self, run: IndexedRun) -> KeptAnswer:
        if run.in_store:
            found = await run_in_threadpool(details_of, self.store, self.queue, run, self.index.whole(run))
        else:
            found = details_of(self.store, self.queue, run)
        if found is None:
            raise unknown("run", run.run_id, (await self.runs(at_once=True)).by_id, _MAKE_A_RUN)
        body = found.model_dump_json().encode()
        answer = KeptAnswer.lasting(body) if run.ended else KeptAnswer(body)
        self._details.keep(run.run_id, run, answer)
        return answer

    async def sweep(self, sweep_id: str) -> IndexedSweep:
        """Return a sweep by its full id; 404 with the nearest id."""
        runs = await self.runs()
        if sweep_id not in runs.sweeps:
            runs = await self.runs(at_once=True)
            if sweep_id not in runs.sweeps:
                raise unknown("sweep", sweep_id, runs.sweeps, "no sweep is stored here; `POST /sweeps` makes one")
        return runs.sweeps[sweep_id]

    async def sweep_details(self, sweep_id: str) -> KeptAnswer:
        """Return the details of a sweep; 404 for an unknown one."""
        sweep = await self.sweep(sweep_id)
        version = (sweep, None if sweep.ended else self.index.reads)  # runs of a sweep that runs are added
        answer = self._details.get(sweep_id, version)
        if answer is None:
            answer = await self._made.do(version, partial(self._make_sweep_details, sweep, version))
        return answer

    async def _make_sweep_details(self, sweep: IndexedSweep, version: object) -> KeptAnswer:
        found = await run_in_threadpool(sweep_details, self.store, self.queue, sweep)
        answer = KeptAnswer(found.model_dump_json().encode())
        self._details.keep(sweep.summary.sweep_id, version, answer)
        return answer

    async def artifact(self, run_id: str, target: Path) -> None:
        """Write the bundle of a run to `target`, outside of this process."""
        task = ResultTask("run", (run_id,), "artifact", self.store.path, self.models, target)
        await self.builders.build(task, ())

    async def result(self, kind: ResultKind, names: tuple[str, ...], format: ResultFormat, version: Hashable) -> bytes:
        """Build a page or report outside of this process, once for each `version`."""
        return await self.builders.build(ResultTask(kind, names, format, self.store.path, self.models), version)

    def close(self) -> None:
        """End threads and processes."""
        self.jobs.close()
        self._refresher.shutdown(wait=False, cancel_futures=True)
        self.builders.close()
