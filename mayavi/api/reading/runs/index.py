"""`RunIndex`: all runs and sweeps of store and queue in memory, read again only where something has changed.

A request costs a few `stat` calls at most. A changed job is read from SQLite. DuckDB is opened only when others have
changed the store's files, and at most a part of the time; a run that has just ended is read from the files it wrote.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from functools import partial

from mayavi.api.reading.answer_cache import AnswerCache
from mayavi.api.reading.kept_answer import KeptAnswer
from mayavi.api.reading.runs.bodies import IndexedRun, StoredRun
from mayavi.api.reading.runs.changed_parameters import ChangedParameters
from mayavi.api.reading.runs.job_mirror import JobMirror
from mayavi.api.reading.runs.orders import RunOrders
from mayavi.api.reading.runs.store_stamp import Stamp, StoreStamp, is_settled
from mayavi.api.reading.runs.stored import FoundRuns, StoreContents, StoredSweep, StoreReader, WholeRun
from mayavi.api.reading.runs.sweep_index import IndexedSweep, sweeps_of
from mayavi.sim.store import Store
from mayavi.sim.store.database.segments import SegmentFolder

LEAST_PAUSE_S = 0.2
"""How often it is checked whether others have changed the store."""
_SHARE = 5
"""The store is read at most this part of the time: readers delay those who merge rows."""
_LIVE_PAUSE_S = 1.0
"""How often it is checked whether the processes of running runs still live."""
_MANY = 1000
_MOST_WHOLE = 256
_ANSWER_BYTES = 16 * 2**20
_GONE = frozenset({"finished", "halted", "interrupted"})
_WITH_RESULTS = frozenset({"finished", "halted"})
_UNFINISHED = frozenset({"running", "interrupted"})


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs and sweeps between two changes. `number` is another one whenever anything has changed."""

    number: int
    by_id: Mapping[str, IndexedRun]
    """All runs, in no order. Follows later changes."""
    sweeps: Mapping[str, IndexedSweep]
    """All sweeps, newest first."""
    orders: RunOrders
    """Lists of runs, filled by those who need them. They follow later changes."""
    parameters: ChangedParameters
    answers: AnswerCache[KeptAnswer] = field(default_factory=lambda: AnswerCache(_ANSWER_BYTES))
    """Finished answers, filled by those who make them."""


@dataclass(frozen=True, slots=True)
class StoreRead:
    """What was read from the store, for `RunIndex.take`."""

    awaited: frozenset[str]
    """Jobs whose results were looked for."""
    found: FoundRuns
    stamp: Stamp | None = None
    """None: only runs that have just ended were read, from their files."""
    settled: bool = False
    live: tuple[tuple[str, bool], ...] = ()
    took_s: float = 0.0


class RunIndex:
    """The runs of a store and a queue.

    `current()` is cheap. Where it returns None, `take(reader()())` finds what has changed. The function that `reader`
    returns takes milliseconds of DuckDB and may run in another thread, one at a time. All else belongs to one thread.
    """

    def __init__(self, store: Store, jobs: JobMirror) -> None:
        self._jobs = jobs
        self._store = StoreReader(store)
        self._stamps = StoreStamp(store.path)
        self._folder = SegmentFolder(store.path)
        self._parameters = ChangedParameters(store)
        self._orders = RunOrders()
        self._by_id: dict[str, IndexedRun] = {}
        self._runs = Runs(0, self._by_id, {}, self._orders, self._parameters)
        self._stored: dict[str, StoredRun] = {}
        self._sweeps: dict[str, StoredSweep] = {}
        self._whole: OrderedDict[str, WholeRun] = OrderedDict()
        self._awaited: set[str] = set()
        """Jobs that have ended, whose results the index does not have yet."""
        self._stamp: Stamp | None = None
        self._settled = False
        self._live: tuple[tuple[str, bool], ...] = ()
        self.reads = 0
        """Number of times that the whole store was read."""
        self._checked_at = 0.0
        self._took_s = 0.0
        self._live_at = 0.0

    @property
    def stamp(self) -> Stamp | None:
        """Stamp of the store as it was read last."""
        return self._stamp

    def current(self, *, at_once: bool = False) -> Runs | None:
        """Return the runs, or None if the store has to be read for them.

        The queue always counts, and so do results of ended jobs. Changes that others make to the store count after a
        short pause, or `at_once`.
        """
        runs = self.known()
        if self._stamp is None or self._awaited:
            return None
        now = time.monotonic()
        if not at_once and now - self._checked_at < max(LEAST_PAUSE_S, _SHARE * self._took_s):
            return runs
        if self._stamps.read() != self._stamp or (not self._settled and is_settled(self._stamp)):
            return None
        if self._live and now - self._live_at > _LIVE_PAUSE_S:
            if self._alive() != self._live:
                return None
            self._live_at = now
        self._checked_at = now
        return runs

    def known(self) -> Runs:
        """Return the runs with the jobs as they are now, and the store as it was read last.

        A job that has ended since then is shown as it was before, because its results are missing.
        """
        if not self._jobs.is_current:
            changed = self._jobs.update()
            self._awaited.update(job_id for job_id in changed if self._lacks_results(job_id))
            self._merge(changed - self._awaited)
        return self._runs

    def reader(self) -> Callable[[], StoreRead]:
        """Return the function that reads what has changed in the store."""
        self.known()
        awaited = frozenset(self._awaited)
        by_files = bool(awaited) and self._stamp is not None and not any(each in self._jobs.sweeps for each in awaited)
        return partial(self._read, awaited, by_files)

    def _read(self, awaited: frozenset[str], by_files: bool) -> StoreRead:
        if by_files and (found := self._store.ended(awaited)) is not None:
            return StoreRead(awaited, found)
        began = time.monotonic()
        stamp = self._stamps.read()
        live, settled = self._alive(), is_settled(stamp)
        contents = self._store.contents(self._stored)
        return StoreRead(awaited, contents, stamp, settled, live, time.monotonic() - began)

    def take(self, read: StoreRead) -> Runs:
        """Add what was read, and return the runs."""
        self._awaited -= read.awaited
        found, changed = read.found, {*read.found.runs, *read.awaited}
        self._stored |= found.runs
        self._keep_whole(found.whole)
        sweeps = False
        if isinstance(found, StoreContents):
            for run_id in self._stored.keys() - found.run_ids:
                del self._stored[run_id]
                changed.add(run_id)
            sweeps, self._sweeps = found.sweeps != self._sweeps, found.sweeps
            self._stamp, self._settled, self._live = read.stamp, read.settled, read.live
            self._checked_at = self._live_at = time.monotonic()
            self._took_s = read.took_s
            self.reads += 1
        self._merge(changed, sweeps=sweeps)
        return self.known()

    def refreshed(self) -> Runs:
        """Read what has changed, and return the runs."""
        return self.take(self.reader()())

    def whole(self, run: IndexedRun) -> WholeRun | None:
        """Return a run with all its figures, if it was read lately; None if the store has to be asked."""
        found = self._whole.get(run.run_id)
        if found is None or run.stored is None or (found.row["status"], found.row["digest"]) != run.stored[1:3]:
            return None
        return found

    def close(self) -> None:
        """Release what reading needs."""
        self._store.close()

    def _lacks_results(self, job_id: str) -> bool:
        """Whether a job has ended and its end in the store was not read yet."""
        job = self._jobs.jobs[job_id]
        if job.status not in _WITH_RESULTS:
            return False
        if job.kind == "sweep":
            return job_id not in self._sweeps or self._sweeps[job_id][3] in _UNFINISHED
        return job_id not in self._stored or self._stored[job_id][1] in _UNFINISHED

    def _merge(self, changed: Set[str], *, sweeps: bool = False) -> None:
        """Combine stored runs and jobs. Runs that did not change keep their entries, and with them their answers."""
        moved = False
        if len(changed) > _MANY:
            self._orders.clear()
        for run_id in changed:
            sweeps |= run_id in self._jobs.sweeps
            old, new = self._by_id.get(run_id), self._entry(run_id)
            if new is old:
                continue
            moved = True
            self._orders.replace(old, new)
            if new is None:
                del self._by_id[run_id]
            else:
                self._by_id[run_id] = new
        if moved or sweeps:
            found = sweeps_of(self._sweeps, self._jobs.sweeps, self._runs.sweeps) if sweeps else self._runs.sweeps
            self._runs = Runs(self._runs.number + 1, self._by_id, found, self._orders, self._parameters)

    def _entry(self, run_id: str) -> IndexedRun | None:
        """Return the run as it is now: the entry that it has if that is still right."""
        stored, job = self._stored.get(run_id), self._jobs.jobs.get(run_id)
        if stored is None and (job is None or job.kind != "run" or job.status in _GONE):
            return None
        old = self._by_id.get(run_id)
        if old is not None and old.stored is stored and old.job is job:
            return old
        return IndexedRun(stored, job, self._parameters)

    def _keep_whole(self, found: Mapping[str, WholeRun]) -> None:
        for run_id, whole in found.items():
            self._whole[run_id] = whole
            self._whole.move_to_end(run_id)
        while len(self._whole) > _MOST_WHOLE:
            self._whole.popitem(last=False)

    def _alive(self) -> tuple[tuple[str, bool], ...]:
        return tuple((run.run_id, run.alive) for run in self._folder.live_runs())
