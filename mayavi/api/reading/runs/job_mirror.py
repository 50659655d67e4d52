"""`JobMirror`: the jobs of the queue in memory, of which only changed ones are read again."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from mayavi.api.queue.job import Job
from mayavi.api.queue.jobs import JobQueue

_KEPT = ("seed", "steps", "world")


class JobMirror:
    """All jobs by id, without the texts of their submissions: `JobQueue.job` has those. Used by one thread."""

    def __init__(self, queue: JobQueue) -> None:
        self._queue = queue
        self.jobs: dict[str, Job] = {}
        """The jobs as of the last `update`."""
        self.sweeps: dict[str, Job] = {}
        """Those that are sweeps."""
        self._changed: deque[str] = deque()
        self._read = False
        self._end = queue.subscribe(self._changed.append)

    @property
    def is_current(self) -> bool:
        """Whether no job has changed since the last `update`."""
        return self._read and not self._changed

    def update(self) -> set[str]:
        """Read the jobs that have changed, and return their ids."""
        ids = set[str]()
        while self._changed:
            ids.add(self._changed.popleft())
        if not self._read:
            for each in self._queue.jobs():
                self._keep(_light(each))
            self._read = True
            return set(self.jobs)
        try:
            return self._read_again(ids)
        except BaseException:
            self._changed.extend(ids)  # for the next time
            raise

    def close(self) -> None:
        """Stop listening to the queue."""
        self._end()

    def _read_again(self, ids: Iterable[str]) -> set[str]:
        found = set[str]()
        moved = False
        for job_id in ids:
            job = self._queue.job(job_id)
            if job is not None:
                before = self.jobs.get(job_id)
                moved |= (before is not None and before.status == "queued") != (job.status == "queued")
                self._keep(_light(job))
                found.add(job_id)
        return found | self._renumbered() if moved else found

    def _renumbered(self) -> set[str]:
        """Number the jobs that wait; return those with another place than before."""
        found = set[str]()
        for ahead, job_id in enumerate(self._queue.waiting()):
            job = self.jobs.get(job_id)
            if job is not None and job.status == "queued" and job.ahead != ahead:
                self._keep(replace(job, ahead=ahead))
                found.add(job_id)
        return found

    def _keep(self, job: Job) -> None:
        """Store a job; one that is the same as before stays the same object."""
        if self.jobs.get(job.job_id) != job:
            self.jobs[job.job_id] = job
            if job.kind == "sweep":
                self.sweeps[job.job_id] = job


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
