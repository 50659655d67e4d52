"""The queue: order, idempotency, limits, events, and jobs that start again."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi.api.database import ServiceDatabase
from mayavi.api.errors import ApiError
from mayavi.api.queue.job import Job
from mayavi.api.queue.jobs import JobQueue
from mayavi.api.security.caller import Caller

ANN = Caller("ann", "Ann", "full")
BEN = Caller("ben", "Ben", "full")


@pytest.fixture
def queue(tmp_path: Path) -> JobQueue:
    return JobQueue(ServiceDatabase(tmp_path))


def submit(queue: JobQueue, job_id: str, caller: Caller = ANN, key: str | None = None, body: str = "") -> Job:
    job, _ = queue.submit("run", job_id, "depeg_cascade", "base", "{}", caller, key, body=body, total=4)
    return job


def kinds(queue: JobQueue, job_id: str) -> list[str]:
    return [event.kind for event in queue.events(job_id)]


def test_jobs_are_claimed_in_the_order_of_their_submission(queue: JobQueue) -> None:
    assert [submit(queue, each).ahead for each in "abc"] == [0, 1, 2]
    assert [queue.claim().job_id for _ in "abc"] == ["a", "b", "c"]
    assert queue.claim() is None
    assert [job.job_id for job in queue.jobs("run")] == ["c", "b", "a"]
    assert queue.jobs("sweep") == []


def test_a_queue_opened_again_has_all_jobs_and_knows_which_ran(queue: JobQueue, tmp_path: Path) -> None:
    submit(queue, "a")
    submit(queue, "b")
    queue.claim()
    again = JobQueue(ServiceDatabase(tmp_path))
    assert [(job.job_id, job.status) for job in again.jobs("run")] == [("b", "queued"), ("a", "running")]
    assert [job.job_id for job in again.unfinished()] == ["a"]


def test_the_same_idempotency_key_and_body_give_the_first_job(queue: JobQueue) -> None:
    first = submit(queue, "a", key="k", body="x")
    again, new = queue.submit("run", "b", "s", "base", "{}", ANN, "k", body="x")
    assert (again.job_id, new) == (first.job_id, False)
    assert queue.earlier("run", "ann", "k", "x") == first
    assert queue.job("b") is None


def test_the_same_idempotency_key_with_another_body_or_kind_is_a_conflict(queue: JobQueue) -> None:
    submit(queue, "a", key="k", body="x")
    for kind, body in (("run", "y"), ("sweep", "x")):
        with pytest.raises(ApiError) as refused:
            queue.submit(kind, "b", "s", "base", "{}", ANN, "k", body=body)
        assert refused.value.status == 409
        assert refused.value.hint
    assert submit(queue, "c", BEN, "k", "y").job_id == "c", "the keys of another caller are others"


def test_a_key_has_its_limit_of_jobs_that_wait_or_run(queue: JobQueue) -> None:
    few = Caller("few", "Few", "full", concurrent_jobs=2)
    submit(queue, "a", few)
    submit(queue, "b", few)
    queue.claim()
    with pytest.raises(ApiError) as refused:
        submit(queue, "c", few)
    assert (refused.value.status, "Retry-After" in refused.value.headers) == (429, True)
    submit(queue, "d", ANN)
    queue.end("a", "finished")
    assert submit(queue, "c", few).status == "queued"


def test_a_full_queue_refuses_everybody(tmp_path: Path) -> None:
    queue = JobQueue(ServiceDatabase(tmp_path), queue_length=2)
    submit(queue, "a")
    submit(queue, "b")
    with pytest.raises(ApiError, match="the queue is full"):
        submit(queue, "c", BEN)
    queue.claim()
    assert submit(queue, "c", BEN).ahead == 1


def test_a_job_that_waits_is_cancelled_at_once_and_one_that_runs_is_asked_to_end(queue: JobQueue) -> None:
    submit(queue, "a")
    submit(queue, "b")
    queue.claim()
    assert queue.cancel("a").status == "cancelling"
    assert queue.is_cancelled("a")
    assert queue.cancel("b").status == "cancelled"
    assert queue.cancel("b") is None
    assert queue.cancel("never") is None
    queue.end("a", "cancelled")
    assert queue.cancel("a") is None
    assert kinds(queue, "b") == ["queued", "cancelled"]


def test_a_job_ends_once(queue: JobQueue) -> None:
    submit(queue, "a")
    queue.claim()
    queue.end("a", "finished")
    queue.end("a", "failed", "too late")
    queue.report("a", 1, 4, "running")
    assert (queue.job("a").status, queue.job("a").error) == ("finished", "")
    assert kinds(queue, "a") == ["queued", "started", "finished"]


def test_events_continue_after_any_of_them_and_only_the_last_progress_of_an_ended_job_is_kept(queue: JobQueue) -> None:
    submit(queue, "a")
    queue.claim()
    for done in range(4):
        queue.report("a", done, 4, "running")
    events = queue.events("a")
    assert [event.id for event in events] == [1, 2, 3, 4, 5, 6]
    assert queue.events("a", after=4) == events[4:]
    queue.end("a", "finished")
    left = queue.events("a")
    assert [(event.id, event.kind) for event in left] == [
        (1, "queued"),
        (2, "started"),
        (6, "progress"),
        (7, "finished"),
    ]
    assert left[2].progress.done == 3
    assert queue.events("a", after=7) == []


def test_a_job_that_starts_again_keeps_its_place_and_counts_its_attempts(queue: JobQueue) -> None:
    submit(queue, "a")
    submit(queue, "b")
    queue.claim()
    queue.requeue("a", "the worker process died with signal 9")
    assert queue.claim().job_id == "a"
    assert (queue.job("a").attempts, queue.starts("a")) == (2, 2)
    queue.requeue("a", "the server stopped", counted=False)
    assert (queue.job("a").attempts, queue.starts("a")) == (1, 2)
    assert kinds(queue, "a") == ["queued", "started", "retried", "started", "retried"]


def test_every_change_changes_the_version_and_is_told_to_subscribers(queue: JobQueue) -> None:
    told: list[str] = []
    end = queue.subscribe(told.append)
    versions = [queue.version()]
    for change in (
        lambda: submit(queue, "a"),
        queue.claim,
        lambda: queue.report("a", 1, 4, "running"),
        lambda: queue.cancel("a"),
        lambda: queue.end("a", "cancelled"),
    ):
        change()
        versions.append(queue.version())
    assert len(set(versions)) == len(versions)
    assert told == ["a"] * 5
    end()
    submit(queue, "b")
    assert len(told) == 5
