"""Jobs as the summaries that routes return."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from mayavi.api.models.jobs import Progress
from mayavi.api.models.runs import RunSummary
from mayavi.api.models.sweeps import SweepSummary
from mayavi.api.queue.job import Job


def run_summary(job: Job) -> RunSummary:
    """Return the summary of a run that was submitted; its figures are in the store."""
    submission: dict[str, Any] = json.loads(job.submission)
    return RunSummary(
        run_id=job.job_id,
        scenario=job.scenario,
        chain=job.chain,
        world=submission.get("world") or job.chain,
        seed=str(submission["seed"]),
        steps=int(submission["steps"]),
        status=job.status,
        submitted_at=_moment(job.submitted_at),
        started_at=_moment(job.started_at),
        ended_at=_moment(job.ended_at),
        error=job.error,
        progress=progress_of(job),
        queued_ahead=job.ahead,
        owner=job.owner,
    )


def sweep_summary(job: Job) -> SweepSummary:
    """Return the summary of a sweep that was submitted."""
    return SweepSummary(
        sweep_id=job.job_id,
        scenario=job.scenario,
        status=job.status,
        runs=job.total,
        progress=progress_of(job),
        submitted_at=_moment(job.submitted_at),
        started_at=_moment(job.started_at),
        ended_at=_moment(job.ended_at),
        error=job.error,
        queued_ahead=job.ahead,
        owner=job.owner,
    )


def progress_of(job: Job) -> Progress:
    """Return how far a job is."""
    return Progress(done=job.done, total=job.total, phase=job.phase)


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
