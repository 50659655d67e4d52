"""Jobs: what is queued, running or done, and their progress."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from mayavi.api.models.base import Answer

JobStatus = Literal["queued", "running", "cancelling", "finished", "failed", "cancelled", "halted", "interrupted"]
"""`interrupted`: a run of the command line without an end. `halted`: ended by an exception in an agent's code."""
Ended = frozenset({"finished", "failed", "cancelled", "halted", "interrupted"})


class Progress(Answer):
    """How far a job is: steps of a run, runs of a sweep."""

    done: int
    total: int
    phase: str = Field(default="", description="What it does now: `building the world`, `running`, `storing`.")


class Event(Answer):
    """One server-sent event of a job: `id` increases. Of an ended job only the last progress is kept."""

    id: int
    at: datetime
    kind: Literal["queued", "started", "progress", "retried", "finished", "failed", "cancelled"]
    progress: Progress | None = None
    message: str = ""
