"""`IndexedRun`: one run for lists, merged from the store and the queue."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from mayavi.api.models.jobs import Ended, JobStatus
from mayavi.api.models.runs import RunSummary
from mayavi.api.queue.job import Job
from mayavi.api.queue.stored_runs import COLUMNS, FINGERPRINT, STATE, WORLD, StoredRun
from mayavi.api.queue.summaries import progress_of, run_summary
from mayavi.api.reading.runs.changed_parameters import ChangedParameters

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class IndexedRun:
    """A run of a list. What filters and orders need is read from `stored` and `job`; the rest is made when shown."""

    stored: StoredRun | None
    job: Job | None
    parameters: ChangedParameters | None = field(default=None, compare=False, repr=False)

    @property
    def run_id(self) -> str:
        """Id of the run."""
        return str(self._value(0, "job_id"))

    @cached_property
    def status(self) -> JobStatus:
        """Status: the store is right about runs that have ended, the queue about all others."""
        if self.stored is None:
            assert self.job is not None
            return self.job.status
        own: JobStatus = self.stored[1]
        if self.job is None or self.job.status == "finished" or own not in {"running", "interrupted"}:
            return own
        return self.job.status

    @property
    def sweep_id(self) -> str | None:
        """Sweep that the run is part of."""
        return None if self.stored is None else self.stored[5]

    @property
    def scenario(self) -> str:
        """Name of the scenario."""
        return str(self._value(6, "scenario"))

    @property
    def chain(self) -> str:
        """Chain of the run."""
        return str(self._value(7, "chain"))

    @property
    def world(self) -> str:
        """Name of its world: a market, `base@2025-12`, or the chain."""
        if self.stored is None:
            return self.summary.world
        named = str(self.stored[WORLD])
        return self.chain if named in {"", "null"} else named

    @property
    def seed(self) -> int:
        """Seed of the run."""
        return int(self.summary.seed) if self.stored is None else int(self.stored[8])

    @property
    def seconds(self) -> float | None:
        """Duration of an ended run."""
        return None if self.stored is None or not self.ended else self.stored[11]

    @property
    def actions(self) -> int | None:
        """Number of actions, once it is known."""
        return None if self.stored is None else self.stored[4]

    @property
    def fingerprint(self) -> str | None:
        """Digest of the scenario text; None before the store has it."""
        return None if self.stored is None else self.stored[FINGERPRINT]

    @property
    def bad_debt(self) -> float | None:
        """Bad debt at the end, in whole dollars or coins; None for a run without lending, or without an end."""
        return None if self.stored is None else self.stored[len(COLUMNS)]

    @property
    def begun(self) -> float:
        """Time of the submission or, for a run of the command line, of the start."""
        if self.job is not None:
            return self.job.submitted_at
        assert self.stored is not None
        return float(self.stored[3]) / 1e6

    @cached_property
    def summary(self) -> RunSummary:
        """The run as lists show it, without `parameters`, which take reading."""
        return _summary(self)

    @property
    def body(self) -> bytes:
        """The summary as JSON, with its parameters if they have been read; then it is kept."""
        kept: bytes | None = self.__dict__.get("_body")
        if kept is None:
            changed = {} if self.parameters is None else dict(self.parameters.known(self.fingerprint))
            kept = self.summary.model_copy(update={"parameters": changed}).model_dump_json().encode()
            if self.parameters is None or self.parameters.is_read(self.fingerprint):
                self.__dict__["_body"] = kept
                self.__dict__.pop("summary", None)  # five times as large, and seldom needed again
        return kept

    @cached_property
    def found_by(self) -> str:
        """Lower-case text that a search looks in."""
        return f"{self.run_id}\n{self.scenario}\n{self.world}\n{'' if self.job is None else self.job.owner}".lower()

    @property
    def ended(self) -> bool:
        """Whether nothing of the run changes any more."""
        return self.status in Ended

    @property
    def in_store(self) -> bool:
        """Whether the store has rows of the run, or its beginning."""
        return self.stored is not None

    @property
    def version(self) -> tuple[Any, ...]:
        """What identifies the rows of an ended run."""
        return () if self.stored is None else self.stored[:STATE]

    def _value(self, place: int, of_job: str) -> Any:
        return getattr(self.job, of_job) if self.stored is None else self.stored[place]


def _summary(run: IndexedRun) -> RunSummary:
    """Merge what store and queue know."""
    job, stored = run.job, run.stored
    if stored is None:
        assert job is not None
        waiting = run_summary(job)
        return waiting.model_copy(update={"progress": None}) if run.ended else waiting
    started = _EPOCH + timedelta(microseconds=stored[3])
    ended_at = None
    if job is not None and job.ended_at is not None:
        ended_at = moment(job.ended_at)
    elif run.seconds is not None:
        ended_at = started + timedelta(seconds=run.seconds)
    return RunSummary(
        run_id=run.run_id,
        scenario=run.scenario,
        chain=run.chain,
        world=run.world,
        seed=str(run.seed),
        steps=stored[9],
        status=run.status,
        sweep_id=run.sweep_id,
        submitted_at=None if job is None else moment(job.submitted_at),
        started_at=started,
        ended_at=ended_at,
        seconds=run.seconds,
        digest=stored[2],
        error=stored[10] or ("" if job is None else job.error),
        progress=None if job is None or run.ended else progress_of(job),
        actions=run.actions,
        failed_actions=_sum(stored[12], stored[13]),
        bad_debt=run.bad_debt,
        bad_debt_unit=stored[len(COLUMNS) + 1] or "",
        queued_ahead=None if job is None else job.ahead,
        owner=None if job is None else job.owner,
    )


def moment(seconds: float | None) -> datetime | None:
    """Return a time of the queue with its time zone."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
