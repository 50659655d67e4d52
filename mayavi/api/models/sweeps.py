"""Sweeps: submission, summaries and details."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from mayavi.api.models.base import Answer
from mayavi.api.models.jobs import JobStatus, Progress
from mayavi.api.models.runs import Override, Submission


class SweepSubmission(Submission):
    """Many runs: seeds, and several values of some keys."""

    seeds: str = Field(default="0:20", description="`0:100`, `1,2,5` or both.", max_length=1000)
    grid: dict[str, list[Override]] = Field(default={}, description="Several values of a dotted key; all combinations.")


class SweepSummary(Answer):
    """A sweep in a list."""

    sweep_id: str
    scenario: str
    status: JobStatus
    runs: int = Field(description="Runs that it plans.")
    progress: Progress | None = None
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    error: str = ""
    owner: str | None = None
    queued_ahead: int | None = None


class SweepDetails(SweepSummary):
    """A sweep with its plan and, once it has ended, its statistics."""

    plan: dict[str, Any] = Field(default_factory=dict)
    summary: dict[str, Any] = Field(default_factory=dict)
    scenario_text: str = ""
    command: str = ""
