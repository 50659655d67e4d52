"""`RunIndex`: all runs of store and queue in memory, read again only where something has changed.

A request costs a few `stat` calls. DuckDB is opened only when the store's files have changed. Then only runs that are
new or have another state are read whole.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from mayavi.api.queue.job import Job
from mayavi.api.reading.answer_cache import AnswerCache
from mayavi.api.reading.runs.bodies import COLUMNS, STATE, IndexedRun, StoredRun
from mayavi.api.reading.runs.changed_parameters import ChangedParameters
from mayavi.api.reading.runs.job_mirror import JobMirror
from mayavi.api.reading.runs.store_stamp import Stamp, StoreStamp, is_settled
from mayavi.sim.store import Store
from mayavi.sim.store.database.segments import SegmentFolder
from mayavi.sim.store.database.views import reading

LEAST_PAUSE_S = 0.2
"""Seconds between checks for changes that other processes make to the store."""
_SHARE = 5
"""Largest share of time in which the store is read: readers delay merges."""
_LIVE_PAUSE_S = 1.0
"""Seconds between checks for runs whose process has died."""
_FEW = 400
_ANSWER_BYTES = 16 * 2**20
_LOSSES = "SELECT run_id, number, unit FROM (SELECT * FROM kpis WHERE name = 'bad_debt')"
_NO_LOSS = (None, None)
_GONE = frozenset({"finished", "halted", "interrupted"})


@dataclass(frozen=True, slots=True)
class Runs:
    """All runs at one moment. `number` is another one whenever anything has changed."""

    number: int
    by_id: Mapping[str, IndexedRun]
    parameters: ChangedParameters
    orders: dict[str, Any] = field(default_factory=dict)
    """All runs by the value they are sorted by, filled on use."""
    answers: AnswerCache = field(default_factory=lambda: AnswerCache(_ANSWER_BYTES))
    """Cached answers, filled by the routes."""


class RunIndex:
    """The runs of a store and a queue. `current()` is cheap; `refreshed()` reads what has changed."""

    def __init__(self, store: Store, jobs: JobMirror) -> None:
        self._store, self._jobs = store, jobs
        self._stamps = StoreStamp(store.path)
        self._folder = SegmentFolder(store.path)
        self._lock = threading.Lock()
        self._parameters = ChangedParameters(store)
        self._runs = Runs(0, {}, self._parameters)
        self._stored: dict[str, StoredRun] = {}
        self._states: dict[str, tuple[Any, ...]] = {}
        self._stamp: Stamp | None = None
        self._settled = False
        self._jobs_version = -1
        self._live: tuple[tuple[str, bool], ...] = ()
        self.reads = 0
        """Number of times that the store was read."""
        self._checked_at = 0.0
        self._took_s = 0.0
        self._live_at = 0.0

    @property
    def stamp(self) -> Stamp | None:
        """Stamp of the store as it was read last."""
        return self._stamp

    def current(self, *, at_once: bool = False) -> Runs | None:
        """Return the runs, or None if `refreshed` has to be called for them.

        A changed queue always counts. Changes that others make to the store count after a short pause, or `at_once`.
        """
        if self._stamp is None or self._jobs.version != self._jobs_version:
            return None
        now = time.monotonic()
        if not at_once and now - self._checked_at < max(LEAST_PAUSE_S, _SHARE * self._took_s):
            return self._runs
        if self._stamps.read() != self._stamp or (not self._settled and is_settled(self._stamp)):
            return None
        if self._live and now - self._live_at > _LIVE_PAUSE_S:
            if self._alive() != self._live:
                return None
            self._live_at = now
        self._checked_at = now
        return self._runs

    def refreshed(self) -> Runs:
        """Read what has changed, and return the runs. Blocks for milliseconds; of threads that call it, one reads."""
        with self._lock:
            if (found := self.current(at_once=True)) is not None:
                return found
            began = time.monotonic()
            stamp = self._stamps.read()
            version = self._jobs.version
            jobs = self._jobs.jobs()  # before the store, which knows their ends
            live, settled = self._alive(), is_settled(stamp)
            if stamp != self._stamp or not self._settled or live != self._live:
                self._stored = self._read()
                self.reads += 1
            self._merge(jobs)
            self._stamp, self._settled, self._live, self._jobs_version = stamp, settled, live, version
            self._checked_at = self._live_at = time.monotonic()
            self._took_s = self._checked_at - began
            return self._runs

    def _merge(self, jobs: Mapping[str, Job]) -> None:
        """Combine stored runs and jobs. Runs that did not change keep their entries, and with them their answers."""
        known = self._runs.by_id
        found: dict[str, IndexedRun] = {}
        changed = False
        waiting = [job for job in jobs.values() if job.kind == "run" and job.job_id not in self._stored]
        pairs = chain(
            ((job.job_id, None, job) for job in waiting if job.status not in _GONE),
            ((run_id, stored, jobs.get(run_id)) for run_id, stored in self._stored.items()),
        )
        for run_id, stored, job in pairs:
            run = known.get(run_id)
            if run is None or run.stored is not stored or run.job is not job:
                run, changed = IndexedRun(stored, job, self._parameters), True
            found[run_id] = run
        if changed or len(found) != len(known):
            self._runs = Runs(self._runs.number + 1, found, self._parameters)

    def _alive(self) -> tuple[tuple[str, bool], ...]:
        return tuple((run.run_id, run.alive) for run in self._folder.live_runs())

    def _read(self) -> dict[str, StoredRun]:
        """Fetch new and changed runs from the store."""
        state, whole = ", ".join(COLUMNS[:STATE]), ", ".join(COLUMNS)
        with reading(self._store.path) as connection:
            states = connection.execute(f"SELECT {state} FROM runs").fetchall()
            before, self._states = self._states, {each[0]: each for each in states}
            wanted = [each[0] for each in states if before.get(each[0]) != each]
            chosen = "" if len(wanted) > _FEW else "WHERE list_contains($1::VARCHAR[], run_id)"
            parameters = [] if len(wanted) > _FEW else [wanted]
            rows = connection.execute(f"SELECT {whole} FROM runs {chosen}", parameters).fetchall() if wanted else []
            losses = connection.execute(f"{_LOSSES} {chosen}", parameters).fetchall() if wanted else []
        stored = {run_id: self._stored[run_id] for run_id in self._states if run_id in self._stored}
        changed = set(wanted)
        loss_of = {run_id: (number if math.isfinite(number) else None, unit) for run_id, number, unit in losses}
        return stored | {row[0]: (*row, *loss_of.get(row[0], _NO_LOSS)) for row in rows if row[0] in changed}
