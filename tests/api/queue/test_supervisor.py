"""The supervisor and its worker processes, without a server around them."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mayavi.api.database import ServiceDatabase
from mayavi.api.models.runs import RunSubmission
from mayavi.api.queue.data_lock import DataLock
from mayavi.api.queue.jobs import JobQueue
from mayavi.api.queue.scenarios.inline_scenarios import check_submission
from mayavi.api.queue.workers import supervisor as supervising
from mayavi.api.queue.workers import worker_process
from mayavi.api.queue.workers.memory import resident_bytes
from mayavi.api.queue.workers.supervisor import Supervisor
from mayavi.api.queue.workers.worker_option import parse_workers
from mayavi.api.security.caller import Caller
from mayavi.api.settings import ServiceSettings
from mayavi.errors import UsageError
from mayavi.sim.store import Store
from mayavi.sim.store.recorder import SegmentRecorder
from tests.api.queue.service_process import until
from tests.sim.store.sample_runs import info_of

STEPS = 60
Start = Callable[[], Supervisor]


@pytest.fixture
def queue(tmp_path: Path) -> JobQueue:
    return JobQueue(ServiceDatabase(tmp_path / "data"))


@pytest.fixture
def start(queue: JobQueue, tmp_path: Path) -> Iterator[Start]:
    started: list[Supervisor] = []

    def start() -> Supervisor:
        settings = ServiceSettings(data=tmp_path / "data", store=tmp_path / "runs.duckdb")
        started.append(Supervisor(queue, settings, settings.store))
        started[-1].start()
        return started[-1]

    yield start
    for each in started:
        each.stop()


def submit(queue: JobQueue, job_id: str) -> None:
    text = check_submission(RunSubmission(scenario="aave_borrower", steps=STEPS)).text
    submission = json.dumps({"seed": "1", "steps": STEPS, "text": text})
    queue.submit("run", job_id, "aave_borrower", "ethereum", submission, Caller("k", "K", "full"), None, total=STEPS)


def ended(queue: JobQueue, *job_ids: str) -> None:
    until(lambda: all((job := queue.job(each)) and job.ended_at for each in job_ids))


@pytest.mark.slow(3)
def test_a_worker_is_replaced_after_its_share_of_jobs(
    queue: JobQueue, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervising, "TASKS_OF_A_WORKER", 1)
    supervisor = start()
    seen: set[int] = set()
    for job_id in ("a", "b"):
        submit(queue, job_id)
        until(lambda: supervisor.workers and supervisor.workers[0].job is not None)
        seen.add(supervisor.workers[0].process.pid)
        ended(queue, job_id)
    assert [queue.job(each).status for each in "ab"] == ["finished", "finished"]
    assert len(seen) == 2


@pytest.mark.slow(2)
def test_the_job_of_a_killed_worker_starts_again_in_another(queue: JobQueue, start: Start, tmp_path: Path) -> None:
    supervisor = start()
    killed: list[int] = []

    def kill_once(job_id: str) -> None:
        if not killed and queue.job(job_id).status == "running":
            killed.append(supervisor.workers[0].process.pid)
            os.kill(killed[0], signal.SIGKILL)

    queue.subscribe(kill_once)
    submit(queue, "a")
    ended(queue, "a")
    kinds = [event.kind for event in queue.events("a") if event.kind != "progress"]
    assert kinds == ["queued", "started", "retried", "started", "finished"]
    assert [run.status for run in Store(tmp_path / "runs.duckdb").runs()] == ["finished"]


@pytest.mark.slow(2)
def test_an_end_that_cannot_be_stored_at_first_is_stored_later(
    queue: JobQueue, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end, failures = queue.end, [sqlite3.OperationalError("database or disk is full")]

    def sometimes(*arguments: object) -> None:
        if failures:
            raise failures.pop()
        end(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(queue, "end", sometimes)
    start()
    submit(queue, "a")
    ended(queue, "a")
    assert failures == []
    assert (queue.job("a").status, queue.starts("a")) == ("finished", 1)
    assert [run.run_id for run in Store(tmp_path / "runs.duckdb").runs()] == ["a"]


def test_workers_that_do_not_start_leave_the_jobs_in_the_queue(
    queue: JobQueue, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    monkeypatch.setattr(worker_process, "_START", "raise SystemExit(3)")
    monkeypatch.setattr(supervising.log, "warning", lambda text, *how: begun.append(text % how))
    submit(queue, "a")
    supervisor = start()
    until(lambda: len(begun) >= 2)
    assert begun[0] == "a worker process ended with exit code 3"
    assert (supervisor.ready_workers, queue.job("a").status) == (0, "queued")


@pytest.mark.slow(3)
def test_what_a_killed_server_left_of_a_cancelled_run_is_removed(queue: JobQueue, start: Start, tmp_path: Path) -> None:
    submit(queue, "a-run")
    queue.claim()
    queue.end("a-run", "cancelled")
    with SegmentRecorder(tmp_path / "runs.duckdb") as recorder:
        recorder.begin(info_of("a-run"))
    assert [run.status for run in Store(tmp_path / "runs.duckdb").runs()] == ["interrupted"]
    start()
    until(lambda: list(Store(tmp_path / "runs.duckdb").runs()) == [])


def test_the_memory_of_a_process_counts_its_children() -> None:
    large = "x = bytearray(b'x' * (80 << 20)); print(flush=True); input()"
    small = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {large!r}])"
    with subprocess.Popen([sys.executable, "-c", small], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        assert resident_bytes(parent.pid) > 80 * 2**20
        parent.communicate(b"\n")  # the child reads a line and ends, then its parent
    assert resident_bytes(2**22 + 1) == 0


def test_a_lock_that_is_released_can_be_taken_again(tmp_path: Path) -> None:
    DataLock(tmp_path).release()
    held = DataLock(tmp_path)
    with pytest.raises(UsageError, match=f"process {os.getpid()}"):
        DataLock(tmp_path)
    held.release()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["3"], (3, None)),
        (["ray://host:10001"], (1, "ray://host:10001")),
        (["0", "host:6379"], (0, "host:6379")),
        (["auto", "2"], (2, "auto")),
    ],
)
def test_workers_are_processes_and_a_cluster(words: list[str], found: tuple[int, str | None]) -> None:
    assert parse_workers(words) == found


@pytest.mark.parametrize("words", [["many"], ["-1"], ["1", "2"], ["auto", "a:1"], ["257"], [""]])
def test_other_workers_are_refused_with_a_hint(words: list[str]) -> None:
    with pytest.raises(UsageError) as refused:
        parse_workers(words)
    assert refused.value.hint
