"""Messages between the supervisor and its worker processes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from mayavi.api.models.jobs import JobStatus
from mayavi.api.queue.job import Kind
from mayavi.api.queue.stored_runs import FoundRuns

BUILDING, RUNNING, STORING = "building the world", "running", "storing"
"""Phases of a job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One job for a worker process."""

    job_id: str
    kind: Kind
    action: Literal["execute", "tidy"] = "execute"
    """`tidy` deletes the rows that a killed worker left of a job that does not run again."""
    submission: str = "{}"
    store: Path
    repeated: bool = False
    """Whether an earlier worker began the job, and may have stored some or all of its rows."""
    threads: int = 1
    ray: str | None = None


class Report(NamedTuple):
    """Progress of the task."""

    done: int
    total: int
    phase: str


class Outcome(NamedTuple):
    """End of a task."""

    status: JobStatus
    error: str = ""
    found: FoundRuns | None = None
    """The run with its figures, for the lists of the server."""


class Ready(NamedTuple):
    """The worker process has loaded everything and waits for its first task."""

    pid: int


class Cancel(NamedTuple):
    """Sent to a worker: end the task of this job, if it is still the current one."""

    job_id: str
