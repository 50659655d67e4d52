"""`RunIndex`: all runs and sweeps of store and queue in memory, read again only where something has changed.

A request costs a few `stat` calls at most. A changed job is read from SQLite. The worker that ends a run hands over its
figures. DuckDB is opened only when the store's files have changed, and at most a part of the time.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from functools import partial

from mayavi.api.queue.stored_runs import FINGERPRINT, FoundRuns, StoredRun, WholeRun
from mayavi.api.reading.answer_cache import AnswerCache
from mayavi.api.reading.kept_answer import KeptAnswer
from mayavi.api.reading.runs.bodies import IndexedRun
from mayavi.api.reading.runs.changed_parameters import ChangedParameters
from mayavi.api.reading.runs.job_mirror import JobMirror
from mayavi.api.reading.runs.orders import RunOrders
from mayavi.api.reading.runs.store_stamp import Stamp, StoreStamp, is_settled
from mayavi.api.reading.runs.stored import StoreContents, StoredSweep, read_contents
from mayavi.api.reading.runs.sweep_index import IndexedSweep, sweeps_of
from mayavi.sim.store import Store
from mayavi.sim.store.database.segments import SegmentFolder

LEAST_PAUSE_S = 0.2
"""How often it is checked whether others have changed the store."""
MOST_STALE_S = 1.0
"""How long a change that others make to the store may be missing in an answer, where reading it takes no longer."""
_SHARE = 5
"""Largest share of time in which the store is read: readers delay merges."""
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
    """Sorted and filtered lists, created on first use and updated with every change."""
    parameters: ChangedParameters
    answers: AnswerCache[KeptAnswer] = field(default_factory=lambda: AnswerCache(_ANSWER_BYTES))
    """Cached responses, filled by the routes."""


@dataclass(frozen=True, slots=True)
class StoreRead:
    """What was read from the store, for `RunIndex.take`."""

    awaited: frozenset[str]
    """Ids of the jobs whose results this read includes."""
    contents: StoreContents
    stamp: Stamp
    settled: bool
    live: tuple[tuple[str, bool], ...]
    began: float
    took_s: float


class RunIndex:
    """The runs of a store and a queue.

    `current()` is cheap. Where it returns None, `take(reader()())` finds what has changed. The function that `reader`
    returns takes milliseconds of DuckDB and may run in another thread, one at a time. All else belongs to one thread.
    """

    def __init__(self, store: Store, jobs: JobMirror) -> None:
        self._jobs = jobs
        self._path = store.path
        self._stamps = StoreStamp(store.path)
        self._folder = SegmentFolder(store.path)
        self._parameters = ChangedParameters(store)
        self._orders = RunOrders()
        self._by_id: dict[str, IndexedRun] = {}
        self._runs = Runs(0, self._by_id, {}, self._orders, self._parameters)
        self._stored: dict[str, StoredRun] = {}
        self._sweeps: dict[str, StoredSweep] = {}
        self._whole: OrderedDict[str, WholeRun] = OrderedDict()
        self._offered: deque[FoundRuns] = deque()
        self._later: set[str] = set()
        """Runs that workers handed over during the current read of the store, which may have older rows of them."""
        self._awaited: set[str] = set()
        """Jobs that have ended, whose results the index does not have yet."""
        self._stamp: Stamp | None = None
        self._settled = False
        self._live: tuple[tuple[str, bool], ...] = ()
        self.reads = 0
        """Number of times that the whole store was read."""
        self._right_at = self._looked_at = 0.0
        """When the store was last known to be as it was read, and when it was last looked at."""
        self._took_s = 0.0
        self._live_at = 0.0

    @property
    def stamp(self) -> Stamp | None:
        """Stamp of the store as it was read last."""
        return self._stamp

    def current(self, *, at_once: bool = False) -> Runs | None:
        """Return the runs, or None if the store has to be read for them.

        The queue always counts, and so do results of ended jobs. Changes that others make to the store count within a
        second, later where reading it takes long, or `at_once`.
        """
        runs = self.known()
        if self._stamp is None or self._awaited:
            return None
        if not at_once and time.monotonic() - self._right_at < max(MOST_STALE_S, 2 * self._pause_s):
            return runs
        return runs if self._is_unchanged() else None

    def is_due(self) -> bool:
        """Whether another process has changed the store and the pause since the last check is over."""
        return time.monotonic() - self._looked_at >= self._pause_s and not self._is_unchanged()

    @property
    def _pause_s(self) -> float:
        return max(LEAST_PAUSE_S, _SHARE * self._took_s)

    def _is_unchanged(self) -> bool:
        """Whether the store is as it was read."""
        now = time.monotonic()
        if self._stamp is None or self._stamps.read() != self._stamp or (not self._settled and is_settled(self._stamp)):
            return False
        if self._live and now - self._live_at > _LIVE_PAUSE_S:
            if self._alive() != self._live:
                return False
            self._live_at = now
        self._right_at = self._looked_at = now
        return True

    def known(self) -> Runs:
        """Return the runs with the jobs as they are now, and the store as it was read last.

        A job that has ended since then is shown as it was before, because its results are missing.
        """
        if self._offered or not self._jobs.is_current:
            changed = self._jobs.update()  # before what is offered: the end of a job comes after its figures
            while self._offered:
                found = self._offered.popleft()
                self._keep(found)
                self._later.update(found.runs)
                changed.update(found.runs)
            self._awaited.update(job_id for job_id in changed if self._lacks_results(job_id))
            self._merge(changed - self._awaited)
        return self._runs

    def offer(self, found: FoundRuns) -> None:
        """Give a run that has just been stored to its end, before its job ends. Any thread may call this."""
        self._offered.append(found)

    def reader(self) -> Callable[[], StoreRead]:
        """Return the function that reads what has changed in the store."""
        self.known()
        self._later.clear()
        self._looked_at = time.monotonic()  # also where reading fails: a damaged store is not read without a pause
        return partial(self._read, frozenset(self._awaited))

    def _read(self, awaited: frozenset[str]) -> StoreRead:
        began = time.monotonic()
        stamp = self._stamps.read()
        live, settled = self._alive(), is_settled(stamp)
        contents = read_contents(self._path, self._stored)
        return StoreRead(awaited, contents, stamp, settled, live, began, time.monotonic() - began)

    def take(self, read: StoreRead) -> Runs:
        """Add what was read, and return the runs."""
        self._awaited -= read.awaited
        contents, found = read.contents, read.contents.found
        runs = {run_id: run for run_id, run in found.runs.items() if run_id not in self._later}
        self._keep(FoundRuns(runs, {run_id: whole for run_id, whole in found.whole.items() if run_id in runs}))
        gone = self._stored.keys() - contents.run_ids - self._later
        for run_id in gone:
            del self._stored[run_id]
        others, self._sweeps = contents.sweeps != self._sweeps, contents.sweeps
        self._stamp, self._settled, self._live = read.stamp, read.settled, read.live
        self._looked_at = self._live_at = time.monotonic()
        self._right_at, self._took_s = read.began, read.took_s
        self.reads += 1
        self._merge({*runs, *gone, *read.awaited}, sweeps=others)
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

    def _lacks_results(self, job_id: str) -> bool:
        """Whether a job has ended and its end in the store was not read yet."""
        job = self._jobs.jobs.get(job_id)
        if job is None or job.status not in _WITH_RESULTS:
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

    def _keep(self, found: FoundRuns) -> None:
        self._stored |= found.runs
        for run_id, whole in found.whole.items():
            row, fingerprint = whole.row, found.runs[run_id][FINGERPRINT]
            self._parameters.offer(fingerprint, row["scenario"], row["chain"], row["scenario_text"])
            self._whole[run_id] = whole
            self._whole.move_to_end(run_id)
        while len(self._whole) > _MOST_WHOLE:
            self._whole.popitem(last=False)

    def _alive(self) -> tuple[tuple[str, bool], ...]:
        return tuple((run.run_id, run.alive) for run in self._folder.live_runs())
