"""`Reading`: data sources of the routes: the index of runs, cached answers, and processes that build reports."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fastapi.concurrency import run_in_threadpool

from mayavi.api.queue.jobs import JobQueue
from mayavi.api.reading.answer_cache import AnswerCache
from mayavi.api.reading.ids import unknown
from mayavi.api.reading.results.builders import ResultBuilders
from mayavi.api.reading.results.result_task import ResultFormat, ResultKind, ResultTask
from mayavi.api.reading.runs.action_search import ActionSearch
from mayavi.api.reading.runs.bodies import IndexedRun
from mayavi.api.reading.runs.details import details_of
from mayavi.api.reading.runs.index import RunIndex, Runs
from mayavi.api.reading.runs.job_mirror import JobMirror
from mayavi.api.reading.runs.sweep_index import IndexedSweep, read_sweeps, sweep_details
from mayavi.sim.store import Store

_DETAILS_BYTES = 32 * 2**20
_MAKE_A_RUN = "no run is stored here; `POST /runs` or `mayavi run SCENARIO` makes one"


class Reading:
    """Everything behind the reading routes of one service."""

    def __init__(self, store: Store, queue: JobQueue, models: Path) -> None:
        self.store, self.queue, self.models = store, queue, models
        self.jobs = JobMirror(queue)
        self.index = RunIndex(store, self.jobs)
        self._sweeps: tuple[object, dict[str, IndexedSweep]] | None = None
        self.details = AnswerCache(_DETAILS_BYTES)
        self.builders = ResultBuilders()
        self.action_search = ActionSearch()
        self._refresher = ThreadPoolExecutor(1, thread_name_prefix="mayavi-index")

    async def runs(self, *, at_once: bool = False) -> Runs:
        """Return all runs as they are now."""
        found = self.index.current(at_once=at_once)
        if found is None:
            found = await asyncio.get_running_loop().run_in_executor(self._refresher, self.index.refreshed)
        return found

    async def run(self, run_id: str) -> IndexedRun:
        """Return a run by its full id; 404 with the nearest id."""
        return (await self._runs_with(run_id)).by_id[run_id]

    async def _runs_with(self, run_id: str) -> Runs:
        runs = await self.runs()
        if run_id not in runs.by_id:
            runs = await self.runs(at_once=True)
            if run_id not in runs.by_id:
                raise unknown("run", run_id, runs.by_id, _MAKE_A_RUN)
        return runs

    async def run_details(self, run_id: str) -> tuple[Runs, bytes]:
        """Return the details of a run as JSON, and the state of the index that they show; 404 for an unknown run."""
        runs = await self._runs_with(run_id)
        run = runs.by_id[run_id]
        body = self.details.get(run_id, run)
        if body is None:
            found = await run_in_threadpool(details_of, self.store, self.queue, run)
            if found is None:
                raise unknown("run", run_id, (await self.runs(at_once=True)).by_id, _MAKE_A_RUN)
            body = found.model_dump_json().encode()
            self.details.keep(run_id, run, body)
        return runs, body

    async def sweeps(self) -> dict[str, IndexedSweep]:
        """Return all sweeps as they are now, newest first."""
        await self.runs(at_once=True)
        version = (self.index.reads, self.jobs.version)
        if self._sweeps is None or self._sweeps[0] != version:
            self._sweeps = (version, await run_in_threadpool(read_sweeps, self.store, self.jobs.jobs()))
        return self._sweeps[1]

    async def sweep(self, sweep_id: str) -> IndexedSweep:
        """Return a sweep by its full id; 404 with the nearest id."""
        known = await self.sweeps()
        if sweep_id not in known:
            raise unknown("sweep", sweep_id, known, "no sweep is stored here; `POST /sweeps` makes one")
        return known[sweep_id]

    async def sweep_details(self, sweep_id: str) -> bytes:
        """Return the details of a sweep as JSON; 404 for an unknown one."""
        sweep = await self.sweep(sweep_id)
        version = (sweep, None if sweep.ended else self.index.reads)  # runs of a sweep that runs are added
        body = self.details.get(sweep_id, version)
        if body is None:
            found = await run_in_threadpool(sweep_details, self.store, self.queue, sweep)
            body = found.model_dump_json().encode()
            self.details.keep(sweep_id, version, body)
        return body

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
