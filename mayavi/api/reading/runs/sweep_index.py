"""Sweeps of store and queue: list, details and the versions of their reports."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from functools import cached_property
from typing import Any

from mayavi.api.errors import ApiError
from mayavi.api.models.base import Listing, Problem
from mayavi.api.models.jobs import Ended, JobStatus
from mayavi.api.models.sweeps import SweepDetails, SweepSummary
from mayavi.api.queue.job import Job
from mayavi.api.queue.jobs import JobQueue
from mayavi.api.queue.summaries import progress_of, sweep_summary
from mayavi.api.reading.results.page_data import finite
from mayavi.api.reading.runs.bodies import moment
from mayavi.api.reading.runs.job_mirror import submission_of
from mayavi.api.reading.runs.stored import StoredSweep
from mayavi.sim.store import Store, SweepRecord
from mayavi.sim.store.database.schema import literal
from mayavi.sim.store.database.views import reading
from mayavi.sim.store.store import sweep_record


@dataclass(frozen=True)
class IndexedSweep:
    """A sweep of a list. The store is right about those that have ended."""

    stored: StoredSweep | None
    job: Job | None

    @cached_property
    def summary(self) -> SweepSummary:
        """The sweep as lists show it."""
        return _summary(self.stored, self.job)

    @property
    def ended(self) -> bool:
        """Whether nothing of the sweep changes any more."""
        return self.summary.status in Ended

    @property
    def in_store(self) -> bool:
        """Whether the store knows the sweep."""
        return self.stored is not None

    @property
    def version(self) -> tuple[Any, ...]:
        """What identifies the results of an ended sweep."""
        return () if self.stored is None else (self.stored[0], self.stored[3], self.stored[5])

    @property
    def key(self) -> tuple[float, str]:
        """Sort key: the time of the submission or, from the command line, of the start."""
        begun = self.summary.submitted_at or self.summary.started_at
        return (0.0 if begun is None else begun.timestamp(), self.summary.sweep_id)


def sweeps_of(
    stored: Mapping[str, StoredSweep], jobs: Mapping[str, Job], before: Mapping[str, IndexedSweep]
) -> dict[str, IndexedSweep]:
    """Return all sweeps, newest first; what did not change since `before` keeps its entry."""
    found: dict[str, IndexedSweep] = {}
    for sweep_id in stored.keys() | jobs.keys():
        row, job = stored.get(sweep_id), jobs.get(sweep_id)
        if row is not None or (job is not None and job.status != "finished"):
            sweep, known = IndexedSweep(row, job), before.get(sweep_id)
            found[sweep_id] = known if known == sweep else sweep
    ordered = sorted(found.values(), key=lambda each: each.key, reverse=True)
    return {each.summary.sweep_id: each for each in ordered}


def sweep_details(store: Store, queue: JobQueue, sweep: IndexedSweep) -> SweepDetails:
    """Return a sweep with its plan, its statistics and the command that repeats it."""
    job = None if sweep.job is None else queue.job(sweep.summary.sweep_id)
    submission = {} if job is None else submission_of(job)
    own = {key: submission[key] for key in ("seeds", "grid") if key in submission}
    if not sweep.in_store:
        text = submission.get("text")
        return SweepDetails(**sweep.summary.model_dump(), plan=own, scenario_text=text if isinstance(text, str) else "")
    with reading(store.path) as connection:
        answer = connection.execute(f"SELECT * FROM sweeps WHERE sweep_id = {literal(sweep.summary.sweep_id)}")
        names = [column[0] for column in answer.description or ()]
        row = answer.fetchone()
    if row is None:
        raise ApiError(404, f"sweep '{sweep.summary.sweep_id}' has been removed")
    record = sweep_record(dict(zip(names, row, strict=True)))
    return SweepDetails(
        **sweep.summary.model_dump(),
        plan=finite({**record.plan, **own}),
        summary=finite(record.summary),
        scenario_text=record.scenario_text,
        command=_command(store, record),
    )


def page_of(sweeps: Mapping[str, IndexedSweep], limit: int, cursor: str | None) -> Listing[SweepSummary]:
    """Return a page of the list with the cursor of the next one; new sweeps do not move it."""
    items = list(sweeps.values())
    if cursor is not None:
        last = _decoded(cursor)
        items = [each for each in items if each.key < last]
    page = items[:limit]
    following = None
    if len(items) > limit:
        following = base64.urlsafe_b64encode(json.dumps(page[-1].key).encode()).decode().rstrip("=")
    return Listing[SweepSummary](items=[each.summary for each in page], total=len(sweeps), next=following)


def _decoded(cursor: str) -> tuple[float, str]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        begun, sweep_id = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        return float(begun), str(sweep_id)
    except (ValueError, TypeError, OverflowError):
        problem = Problem(message="the cursor is not the `next` of an answer", field="cursor")
        raise ApiError(422, problem.message, "leave it out for the first page", problems=(problem,)) from None


def _summary(stored: StoredSweep | None, job: Job | None) -> SweepSummary:
    if stored is None:
        assert job is not None
        waiting = sweep_summary(job)
        return waiting.model_copy(update={"progress": None}) if job.status in Ended else waiting
    sweep_id, scenario, runs, own_status, started, updated = stored
    status: JobStatus = own_status  # type: ignore[assignment]
    if job is not None and own_status != "finished" and job.status != "finished":
        status = job.status
    ended = status in Ended
    return SweepSummary(
        sweep_id=sweep_id,
        scenario=scenario,
        status=status,
        runs=runs,
        progress=None if job is None or ended else progress_of(job),
        submitted_at=None if job is None else moment(job.submitted_at),
        started_at=started.replace(tzinfo=UTC),
        ended_at=(moment(job.ended_at) if job is not None and job.ended_at else updated.replace(tzinfo=UTC))
        if ended
        else None,
        error="" if job is None else job.error,
        owner=None if job is None else job.owner,
        queued_ahead=None if job is None else job.ahead,
    )


def _command(store: Store, record: SweepRecord) -> str:
    """Return the command line that repeats a sweep, as its report shows it; empty if it has no run yet."""
    from mayavi.errors import MayaviError
    from mayavi.report.sources.parameters import sweep_command
    from mayavi.report.sources.sweep import read_sweep

    try:
        data = read_sweep(store, record.sweep_id)
    except MayaviError:
        return ""
    first = next((point.record for point in data.points if point.record is not None), None)
    if first is None:
        return ""
    seeds = [int(each) for each in record.plan.get("seeds", ())]
    return sweep_command(first, seeds, data.axes, "sweep")
