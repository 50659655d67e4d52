"""`JobQueue`: submit, list, cancel and follow jobs in SQLite."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mayavi.api.database import ServiceDatabase
from mayavi.api.errors import ApiError
from mayavi.api.models.jobs import Event, JobStatus, Progress
from mayavi.api.queue.job import Job, Kind

if TYPE_CHECKING:
    from mayavi.api.security.caller import Caller

MOST_ATTEMPTS = 3
"""Times that a job is started before a dying worker process ends it as `failed`."""
_RETRY_S = 5
_FIELDS = tuple(name for name in Job.__dataclass_fields__ if name != "ahead")
_SELECT = f"SELECT {', '.join(_FIELDS)} FROM jobs"
Changed = Callable[[str], None]
"""Called with the id of a job after a change of it is stored, in the thread that changed it."""


class JobQueue:
    """The queue. Every change is one transaction, so that nothing is lost when a process ends at any point.

    One process changes jobs at a time: that of the server. `queue_length` limits the jobs of all keys that wait; the
    caller's key limits those of the key that wait or run.
    """

    def __init__(self, database: ServiceDatabase, *, queue_length: int = 1000) -> None:
        self.database = database
        self.queue_length = queue_length
        self._version = 0
        self._lock = threading.Lock()
        self._subscribers: list[Changed] = []

    # -- callers ------------------------------------------------------------------------------------------------------

    def submit(
        self,
        kind: Kind,
        job_id: str,
        scenario: str,
        chain: str,
        submission: str,
        caller: Caller,
        idempotency_key: str | None,
        *,
        body: str = "",
        total: int = 0,
    ) -> tuple[Job, bool]:
        """Store a job and return it with whether it is new; the same idempotency key returns the first one.

        `body` is the request as it came: the same key with another body is a conflict. `total` is the number of steps
        or runs.
        Raises `ApiError`: 409 for such a conflict, 429 if the queue is full or the key has too many jobs.
        """
        body_hash = hashlib.sha256(f"{kind}\n{body}".encode()).hexdigest()
        with self.database.writing() as connection:
            if idempotency_key is not None and (found := self._earlier(caller.key_id, idempotency_key, body_hash)):
                return found, False
            self._check_limits(connection, caller)
            connection.execute(
                "INSERT INTO jobs (job_id, place, kind, status, scenario, chain, submission, key_id, owner,"
                " idempotency_key, body_hash, submitted_at, total)"
                " VALUES (?, (SELECT COALESCE(MAX(place), 0) + 1 FROM jobs), ?, 'queued', ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(job_id, kind, scenario, chain, submission, caller.key_id, caller.name),
                    *(idempotency_key, body_hash, time.time(), total),
                ),
            )
            _add_event(connection, job_id, "queued")
        self._note_change(job_id)
        job = self.job(job_id)
        assert job is not None
        return job, True

    def earlier(self, kind: Kind, key_id: str, idempotency_key: str, body: str) -> Job | None:
        """Return the job that a key submitted under `idempotency_key`; `ApiError` 409 if its body was another."""
        return self._earlier(key_id, idempotency_key, hashlib.sha256(f"{kind}\n{body}".encode()).hexdigest())

    def jobs(self, kind: Kind | None = None, *, active: bool = False) -> Sequence[Job]:
        """Return the jobs of a kind, newest first; with `active` those that wait or run."""
        where = [f"kind = '{kind}'"] if kind else []
        where += ["status IN ('queued', 'running', 'cancelling')"] if active else []
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        connection = self.database.reading()
        rows = connection.execute(f"{_SELECT}{condition} ORDER BY place DESC").fetchall()
        ahead = {job_id: index for index, job_id in enumerate(self.waiting())}
        return [_job(row, ahead.get(row["job_id"])) for row in rows]

    def waiting(self) -> list[str]:
        """Return the ids of the jobs that wait, the next one first."""
        query = "SELECT job_id FROM jobs WHERE status = 'queued' ORDER BY place"
        return [str(row[0]) for row in self.database.reading().execute(query).fetchall()]

    def job(self, job_id: str) -> Job | None:
        """Return a job; None if the queue never had it."""
        connection = self.database.reading()
        row = connection.execute(f"{_SELECT} WHERE job_id = ?", (job_id,)).fetchone()
        if row is None:
            return None
        ahead = None
        if row["status"] == "queued":
            query = (
                "SELECT COUNT(*) FROM jobs WHERE status = 'queued'"
                " AND place < (SELECT place FROM jobs WHERE job_id = ?)"
            )
            ahead = int(connection.execute(query, (job_id,)).fetchone()[0])
        return _job(row, ahead)

    def cancel(self, job_id: str) -> Job | None:
        """Cancel a job; None if it has ended already. A queued job ends at once."""
        with self.database.writing() as connection:
            row = connection.execute("SELECT status FROM jobs WHERE job_id = ?", (job_id,)).fetchone()
            if row is None or row["status"] not in {"queued", "running", "cancelling"}:
                return None
            if row["status"] == "queued":
                _end(connection, job_id, "cancelled", "")
            else:
                connection.execute("UPDATE jobs SET status = 'cancelling', cancel = 1 WHERE job_id = ?", (job_id,))
        self._note_change(job_id)
        return self.job(job_id)

    def events(self, job_id: str, after: int = 0, limit: int = 1000) -> list[Event]:
        """Return the events of a job after the one numbered `after`."""
        query = "SELECT * FROM events WHERE job_id = ? AND event_id > ? ORDER BY event_id LIMIT ?"
        after = min(max(after, 0), 2**62)
        return [_event(row) for row in self.database.reading().execute(query, (job_id, after, limit)).fetchall()]

    def version(self) -> int:
        """Return a number that changes whenever a job changes."""
        return self._version

    def subscribe(self, changed: Changed) -> Callable[[], None]:
        """Call `changed(job_id)` after every change; return the function that ends this."""
        with self._lock:
            self._subscribers = [*self._subscribers, changed]

        def end() -> None:
            with self._lock:
                self._subscribers = [each for each in self._subscribers if each is not changed]

        return end

    def counts(self) -> dict[str, int]:
        """Return the number of jobs by status."""
        rows = self.database.reading().execute("SELECT status, COUNT(*) FROM jobs GROUP BY status").fetchall()
        return {row[0]: int(row[1]) for row in rows}

    # -- the supervisor -----------------------------------------------------------------------------------------------

    def claim(self) -> Job | None:
        """Mark the first job that waits as running and return it; None if none waits."""
        with self.database.writing() as connection:
            row = connection.execute(
                "SELECT job_id FROM jobs WHERE status = 'queued' ORDER BY place LIMIT 1"
            ).fetchone()
            if row is None:
                return None
            job_id = str(row["job_id"])
            connection.execute(
                "UPDATE jobs SET status = 'running', attempts = attempts + 1, started_at = ?, done = 0, phase = ''"
                " WHERE job_id = ?",
                (time.time(), job_id),
            )
            _add_event(connection, job_id, "started")
        self._note_change(job_id)
        return self.job(job_id)

    def report(self, job_id: str, done: int, total: int, phase: str) -> None:
        """Store the progress of a running job."""
        with self.database.writing(lasting=False) as connection:
            changed = connection.execute(
                "UPDATE jobs SET done = ?, total = ?, phase = ?"
                " WHERE job_id = ? AND status IN ('running', 'cancelling')",
                (done, total, phase, job_id),
            )
            if not changed.rowcount:
                return
            _add_event(connection, job_id, "progress", Progress(done=done, total=total, phase=phase))
        self._note_change(job_id)

    def end(self, job_id: str, status: JobStatus, error: str = "") -> None:
        """Store the end of a job; does nothing if it has ended."""
        with self.database.writing() as connection:
            row = connection.execute("SELECT ended_at FROM jobs WHERE job_id = ?", (job_id,)).fetchone()
            if row is None or row["ended_at"] is not None:
                return
            _end(connection, job_id, status, error)
        self._note_change(job_id)

    def requeue(self, job_id: str, reason: str, *, counted: bool = True) -> None:
        """Queue a running job again, at its old place. A start that is not `counted` is no attempt."""
        with self.database.writing() as connection:
            connection.execute(
                "UPDATE jobs SET status = 'queued', attempts = attempts - ?, phase = '', done = 0"
                " WHERE job_id = ? AND ended_at IS NULL",
                (0 if counted else 1, job_id),
            )
            _add_event(connection, job_id, "retried", message=reason)
        self._note_change(job_id)

    def unfinished(self) -> list[Job]:
        """Return the jobs that are marked as running, also those whose worker process is gone."""
        query = f"{_SELECT} WHERE status IN ('running', 'cancelling') ORDER BY place"
        return [_job(row, None) for row in self.database.reading().execute(query).fetchall()]

    def starts(self, job_id: str) -> int:
        """Return how often a job was started, those starts included that do not count as attempts."""
        query = "SELECT COUNT(*) FROM events WHERE job_id = ? AND kind = 'started'"
        return int(self.database.reading().execute(query, (job_id,)).fetchone()[0])

    def is_cancelled(self, job_id: str) -> bool:
        """Whether a running job was cancelled."""
        row = self.database.reading().execute("SELECT cancel FROM jobs WHERE job_id = ?", (job_id,)).fetchone()
        return bool(row and row["cancel"])

    # -- parts --------------------------------------------------------------------------------------------------------

    def _earlier(self, key_id: str, idempotency_key: str, body_hash: str) -> Job | None:
        query = "SELECT job_id, body_hash FROM jobs WHERE key_id = ? AND idempotency_key = ?"
        row = self.database.reading().execute(query, (key_id, idempotency_key)).fetchone()
        if row is None:
            return None
        if row["body_hash"] != body_hash:
            raise ApiError(
                409,
                f"the idempotency key '{idempotency_key}' was used for another request, job {row['job_id']}",
                "give each submission its own key, and repeat a key only with the same body",
            )
        return self.job(str(row["job_id"]))

    def _check_limits(self, connection: sqlite3.Connection, caller: Caller) -> None:
        waiting = int(connection.execute("SELECT COUNT(*) FROM jobs WHERE status = 'queued'").fetchone()[0])
        if waiting >= self.queue_length:
            raise _too_many(f"the queue is full: {waiting:,} jobs wait", "try again when some have ended")
        own = "SELECT COUNT(*) FROM jobs WHERE key_id = ? AND status IN ('queued', 'running', 'cancelling')"
        active, limit = int(connection.execute(own, (caller.key_id,)).fetchone()[0]), caller.concurrent_jobs
        if active >= limit:
            raise _too_many(
                f"this key has {active:,} jobs that wait or run, and may have {limit:,}",
                "wait for one to end, cancel one, or ask for a key with a higher limit",
            )

    def _note_change(self, job_id: str) -> None:
        with self._lock:
            self._version += 1
            subscribers = self._subscribers
        for changed in subscribers:
            changed(job_id)


def _too_many(message: str, hint: str) -> ApiError:
    return ApiError(429, message, hint, headers={"Retry-After": str(_RETRY_S)})


def _end(connection: sqlite3.Connection, job_id: str, status: JobStatus, error: str) -> None:
    connection.execute(
        "UPDATE jobs SET status = ?, ended_at = ?, error = ?, phase = '' WHERE job_id = ?",
        (status, time.time(), error, job_id),
    )
    connection.execute(  # the history of an ended job: of its progress the last alone
        "DELETE FROM events WHERE job_id = ? AND kind = 'progress' AND event_id <"
        " (SELECT MAX(event_id) FROM events WHERE job_id = ? AND kind = 'progress')",
        (job_id, job_id),
    )
    _add_event(connection, job_id, status if status in {"finished", "cancelled"} else "failed", message=error)


def _add_event(
    connection: sqlite3.Connection, job_id: str, kind: str, progress: Progress | None = None, message: str = ""
) -> None:
    done, total, phase = (None, None, "") if progress is None else (progress.done, progress.total, progress.phase)
    connection.execute(
        "INSERT INTO events (job_id, event_id, at, kind, done, total, phase, message) VALUES"
        " (?, (SELECT COALESCE(MAX(event_id), 0) + 1 FROM events WHERE job_id = ?), ?, ?, ?, ?, ?, ?)",
        (job_id, job_id, time.time(), kind, done, total, phase, message),
    )


def _job(row: sqlite3.Row, ahead: int | None) -> Job:
    values: dict[str, Any] = {name: row[name] for name in _FIELDS}
    return Job(**values, ahead=ahead)


def _event(row: sqlite3.Row) -> Event:
    progress = None
    if row["done"] is not None:
        progress = Progress(done=row["done"], total=row["total"], phase=row["phase"])
    at = datetime.fromtimestamp(row["at"], UTC)
    return Event(id=row["event_id"], at=at, kind=row["kind"], progress=progress, message=row["message"])
