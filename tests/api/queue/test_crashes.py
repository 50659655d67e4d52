"""Whatever is killed in the middle: no run is lost, each ends once, with the rows of an undisturbed run."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from mayavi.api.database import ServiceDatabase
from mayavi.api.models.runs import RunSubmission
from mayavi.api.queue.jobs import JobQueue
from mayavi.api.queue.scenarios.inline_scenarios import check_submission
from mayavi.api.queue.workers.execution import execute_task
from mayavi.api.queue.workers.memory import resident_bytes
from mayavi.api.queue.workers.task import Task
from mayavi.api.security.caller import Caller
from mayavi.client import Client
from mayavi.scenarios.run.run import run as run_scenario
from mayavi.sim.store import Store
from tests.api.queue.conftest import StartService
from tests.api.queue.service_process import LONG, ServiceProcess, until, until_running

STEPS = {0: 700, 1: 20, 2: 20}
"""Steps by seed: the first run is disturbed in the middle, the others wait."""


@pytest.fixture(scope="module")
def digest_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], str]:
    """Digests of the same runs by the command line's function."""
    store = tmp_path_factory.mktemp("undisturbed") / "runs.duckdb"
    return cache(lambda seed: run_scenario("aave_borrower", seed=seed, steps=STEPS[seed], store=store).digest)


def submit_all(client: Client) -> dict[int, str]:
    return {seed: client.submit_run("aave_borrower", seed=seed, steps=steps).run_id for seed, steps in STEPS.items()}


def check_all(service: ServiceProcess, client: Client, runs: dict[int, str], digest_of: Callable[[int], str]) -> None:
    """Check that every run ended once, with its digest, and that the store has the rows of each once."""
    for seed, run_id in runs.items():
        run = client.wait(run_id)
        assert (run.status, run.digest) == ("finished", digest_of(seed))
        kinds = [event.kind for event in client.events(run_id)]
        assert sum(kind in {"finished", "failed", "cancelled"} for kind in kinds) == 1
        assert kinds.count("retried") == (1 if seed == 0 else 0)
    store = Store(service.store)
    store.merge()
    assert sorted(run.run_id for run in store.runs()) == sorted(runs.values())
    for run_id in runs.values():
        assert store.digest(run_id) == store.run(run_id).digest


@pytest.mark.slow(6)
def test_a_killed_worker_is_replaced_and_its_run_starts_again(
    start_service: StartService, digest_of: Callable[[int], str]
) -> None:
    service = start_service()
    with service.client() as client:
        runs = submit_all(client)
        until_running(client, runs[0])
        (worker,) = service.workers()
        os.kill(worker, signal.SIGKILL)
        check_all(service, client, runs, digest_of)
        assert worker not in service.workers()
        (retried,) = [event for event in client.events(runs[0]) if event.kind == "retried"]
        assert retried.message == "the worker process died with signal 9"


@pytest.mark.slow(6)
def test_a_killed_server_leaves_no_process_and_continues_after_its_next_start(
    start_service: StartService, digest_of: Callable[[int], str]
) -> None:
    service = start_service()
    with service.client() as client:
        runs = submit_all(client)
        until_running(client, runs[0])
        workers = service.workers()
        service.kill()
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
        service.start()
        check_all(service, client, runs, digest_of)


@pytest.mark.slow(6)
def test_a_run_that_kills_every_worker_fails_after_three_attempts(start_service: StartService) -> None:
    service = start_service()
    with service.client() as client:
        run = client.submit_run(yaml=LONG)
        after = client.submit_run("aave_borrower", seed=2, steps=20)
        killed: set[int] = set()
        for event in client.events(run.run_id):
            if event.progress is not None and event.progress.done > 0 and (left := set(service.workers()) - killed):
                killed |= left
                os.kill(left.pop(), signal.SIGKILL)
        ended = client.show(run.run_id)
        assert (ended.status, len(killed)) == ("failed", 3)
        assert ended.error.startswith("the worker process died 3 times")
        assert client.wait(after.run_id).status == "finished"
    assert [each.run_id for each in Store(service.store).runs()] == [after.run_id]


@pytest.mark.slow(6)
def test_a_sweep_continues_after_the_server_was_killed_without_repeating_runs(start_service: StartService) -> None:
    service = start_service()
    with service.client() as client:
        # Runs that end within two seconds are stored together: a sweep of some seconds is killed between its portions.
        sweep = client.submit_sweep("aave_borrower", seeds="0:120", steps=40)
        until(lambda: len(list(client.runs(sweep_id=sweep.sweep_id, status="finished"))) >= 3)
        service.kill()
        before = {run.run_id for run in Store(service.store).runs(sweep_id=sweep.sweep_id, status="finished")}
        service.start()
        assert client.wait_sweep(sweep.sweep_id).status == "finished"
    runs = list(Store(service.store).runs(sweep_id=sweep.sweep_id))
    assert sorted(run.seed for run in runs) == list(range(120))
    assert {run.status for run in runs} == {"finished"}
    assert 3 <= len(before) < 120
    assert before <= {run.run_id for run in runs}


def begun(folder: Path, run_id: str, *, claimed: bool = True) -> tuple[JobQueue, Task]:
    """A job that is marked as running, as a killed server leaves it, or as waiting, and its task."""
    queue = JobQueue(ServiceDatabase(folder / "data"))
    scenario = check_submission(RunSubmission(scenario="aave_borrower", steps=20))
    submission = json.dumps({"seed": "2", "steps": 20, "text": scenario.text})
    queue.submit("run", run_id, scenario.name, "ethereum", submission, Caller("k", "K", "full"), None, total=20)
    if claimed:
        queue.claim()
    return queue, Task(job_id=run_id, kind="run", submission=submission, store=folder / "runs.duckdb")


@pytest.mark.slow(2)
@pytest.mark.parametrize("claimed", [True, False])
def test_a_run_that_was_stored_already_is_not_repeated(
    start_service: StartService, tmp_path: Path, digest_of: Callable[[int], str], claimed: bool
) -> None:
    """Just before a crash, or between the copies of the queue, where it waits, and of the store in a backup."""
    _, task = begun(tmp_path, "a-run", claimed=claimed)
    assert execute_task(task, lambda _: None, lambda: False).status == "finished"
    began = Store(task.store).run("a-run").started_at
    cancelled, _ = begun(tmp_path, "another-run")
    cancelled.cancel("another-run")
    service = start_service(folder=tmp_path)
    with service.client() as client:
        run = client.wait("a-run")
        assert (run.status, run.digest) == ("finished", digest_of(2))
        assert client.wait("another-run").status == "cancelled"
    assert [(each.run_id, each.started_at) for each in Store(task.store).runs()] == [("a-run", began)]


@pytest.mark.slow(9)
def test_the_memory_of_the_server_stays_flat_over_many_runs(start_service: StartService) -> None:
    service = start_service()
    assert service.process is not None
    with service.client() as client:

        def execute(count: int) -> int:
            runs = [client.submit_run("aave_borrower", seed=seed, steps=2) for seed in range(count)]
            for run in runs:
                assert client.wait(run.run_id).status == "finished"
            return resident_bytes(service.process.pid) - sum(map(resident_bytes, service.workers()))

        before = execute(20)
        after = execute(60)
    assert after - before < 40 * 2**20, f"{before / 2**20:.0f} MiB, then {after / 2**20:.0f} MiB"
