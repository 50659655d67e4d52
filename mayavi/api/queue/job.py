"""`Job`: a queued, running or ended run or sweep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mayavi.api.models.jobs import JobStatus

Kind = Literal["run", "sweep"]


@dataclass(frozen=True, slots=True)
class Job:
    """A row of `jobs`. `job_id` is the id of the run, or of the sweep, from the moment it is submitted."""

    job_id: str
    kind: Kind
    status: JobStatus
    scenario: str
    chain: str
    submission: str
    """The submission as JSON, with everything resolved that a worker needs: `seed`, `steps`, `seeds`, `grid`."""
    key_id: str
    owner: str
    submitted_at: float
    started_at: float | None
    ended_at: float | None
    attempts: int
    done: int
    total: int
    phase: str
    error: str
    ahead: int | None = None
    """Jobs before this one, while it is queued."""
