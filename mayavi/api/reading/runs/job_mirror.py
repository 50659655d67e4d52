"""`JobMirror`: the jobs of the queue in memory, of which only changed ones are read again."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mayavi.api.queue.job import Job
from mayavi.api.queue.jobs import JobQueue

_KEPT = ("seed", "steps")


class JobMirror:
    """All jobs by id, without the texts of their submissions: `JobQueue.job` has those."""

    def __init__(self, queue: JobQueue) -> None:
        self._queue = queue
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] | None = None
        self._changed: set[str] = set()
        self.version = 0
        """Another number after every change. Take it before `jobs`."""
        self._end = queue.subscribe(self._note)

    def jobs(self) -> Mapping[str, Job]:
        """Return all jobs as they are now."""
        with self._lock:
            changed, self._changed = self._changed, set()
            if self._jobs is None:
                self._jobs = {job.job_id: _light(job) for job in self._queue.jobs()}
                return dict(self._jobs)
            moved = False
            for job_id in changed:
                job = self._queue.job(job_id)
                if job is not None:
                    before = self._jobs.get(job_id)
                    moved |= (before is not None and before.status == "queued") != (job.status == "queued")
                    self._keep(_light(job))
            if moved:  # and so the places of all that wait
                for job in self._queue.jobs(active=True):
                    self._keep(_light(job))
            return dict(self._jobs)

    def close(self) -> None:
        """Stop listening to the queue."""
        self._end()

    def _keep(self, job: Job) -> None:
        """Store a job; one that is the same as before stays the same object."""
        assert self._jobs is not None
        if self._jobs.get(job.job_id) != job:
            self._jobs[job.job_id] = job

    def _note(self, job_id: str) -> None:
        self._changed.add(job_id)  # before the version: who sees that, also sees the change
        self.version += 1


def submission_of(job: Job) -> Mapping[str, Any]:
    """Return the submission of a job as data; empty if it cannot be read."""
    try:
        found = json.loads(job.submission)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _light(job: Job) -> Job:
    submission = submission_of(job)
    return replace(job, submission=json.dumps({key: submission[key] for key in _KEPT if key in submission}))
