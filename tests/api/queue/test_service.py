"""The service in its own process executes what is submitted: runs, sweeps, cancellations, limits, events."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from mayavi.api.queue.workers.worker import NICENESS
from mayavi.errors import SimulationError, UsageError
from mayavi.scenarios.run.run import run as run_scenario
from mayavi.sim.store import Store
from tests.api.queue.conftest import StartService
from tests.api.queue.service_process import KEY, LONG, ServiceProcess, until, until_running


@pytest.fixture(scope="module")
def service(start_service: StartService) -> ServiceProcess:
    return start_service()


@pytest.mark.slow(2)
def test_a_run_of_the_service_has_the_digest_of_the_same_run_of_the_command_line(
    service: ServiceProcess, tmp_path: Path
) -> None:
    with service.client() as client:
        seen = []
        run = client.run("aave_borrower", seed=5, steps=6, progress=seen.append)
        assert (run.status, run.steps, run.seed) == ("finished", 6, "5")
        assert run.digest == run_scenario("aave_borrower", seed=5, steps=6, store=tmp_path / "own.duckdb").digest
        assert [at.phase for at in seen if at.phase] == sorted(
            (at.phase for at in seen), key=["building the world", "running", "storing"].index
        )
        assert (seen[-1].done, seen[-1].total, seen[-1].phase) == (6, 6, "storing")
        assert Store(service.store).digest(run.run_id) == run.digest


def test_an_inline_scenario_runs_as_its_file_does(service: ServiceProcess, tmp_path: Path) -> None:
    text = (
        "chain: base\nsteps: 3\nstep_blocks: 100\nagents:\n  one: {kind: borrower, collateral: 1 WETH, debt: 9 USDC}\n"
    )
    (tmp_path / "mine.yaml").write_text(text)
    own = run_scenario(tmp_path / "mine.yaml", store=tmp_path / "own.duckdb")
    with service.client() as client:
        run = client.run(yaml=text, overrides={"name": "mine"})
    assert (run.digest, run.scenario, run.chain) == (own.digest, "mine", "base")


def test_a_scenario_that_cannot_be_built_fails_with_the_reason(service: ServiceProcess) -> None:
    with service.client() as client, pytest.raises(SimulationError, match="failed: ") as failed:
        client.run("aave_borrower", overrides={"agents.borrower.collateral": "1 NOSUCHTOKEN"})
    assert "NOSUCHTOKEN" in str(failed.value)


@pytest.mark.slow(1)
def test_a_sweep_keeps_its_id_and_its_runs_have_the_digests_of_single_runs(
    service: ServiceProcess, tmp_path: Path
) -> None:
    with service.client() as client:
        sweep = client.sweep("aave_borrower", seeds="0:2", grid={"steps": [2, 3]})
        runs = list(client.runs(sweep_id=sweep.sweep_id))
    assert (sweep.status, sweep.runs, len(runs)) == ("finished", 4, 4)
    by_point = {(run.seed, run.steps): run.digest for run in runs}
    own = run_scenario("aave_borrower", seed=1, overrides={"steps": 3}, store=tmp_path / "own.duckdb")
    assert by_point["1", 3] == own.digest
    assert len(by_point) == 4


def test_an_idempotency_key_gives_one_run_and_refuses_another_body(service: ServiceProcess) -> None:
    with service.client() as client:
        first = client.submit_run("aave_borrower", seed=1, steps=2, idempotency_key="once")
        again = client.submit_run("aave_borrower", seed=1, steps=2, idempotency_key="once")
        assert first.run_id == again.run_id
        with pytest.raises(UsageError, match="'once' was used for another request"):
            client.submit_run("aave_borrower", seed=2, steps=2, idempotency_key="once")
        client.wait(first.run_id)
    assert service.request("GET", f"/runs/{first.run_id}").json()["status"] == "finished"


@pytest.mark.slow(0.5)
def test_runs_that_wait_and_that_run_can_be_cancelled_and_leave_nothing_else(service: ServiceProcess) -> None:
    with service.client() as client:
        running = client.submit_run(yaml=LONG)
        waiting = client.submit_run(yaml=LONG)
        until_running(client, running.run_id)
        assert client.cancel(waiting.run_id).status == "cancelled"
        assert client.cancel(running.run_id).status in {"cancelling", "cancelled"}
        assert client.wait(running.run_id).status == "cancelled"
        assert [event.kind for event in client.events(waiting.run_id)] == ["queued", "cancelled"]
        with pytest.raises(UsageError, match="is cancelled already"):
            client.cancel(running.run_id)
        after = client.run("aave_borrower", steps=2)
    stored = {run.run_id for run in Store(service.store).runs()}
    assert after.run_id in stored
    assert not stored & {running.run_id, waiting.run_id}


@pytest.mark.slow(1)
def test_a_cancelled_sweep_keeps_its_finished_runs(service: ServiceProcess) -> None:
    with service.client() as client:
        sweep = client.submit_sweep("aave_borrower", seeds="0:1000", steps=20)
        until(lambda: len(list(client.runs(sweep_id=sweep.sweep_id, status="finished"))) >= 2)
        client.cancel(sweep.sweep_id)
        assert client.wait_sweep(sweep.sweep_id).status == "cancelled"
        client.run("aave_borrower", steps=2)  # the worker has tidied up
    runs = list(Store(service.store).runs(sweep_id=sweep.sweep_id))
    assert {run.status for run in runs} == {"finished"}
    assert 2 <= len(runs) < 1000


def test_events_continue_after_the_last_one_a_client_has(service: ServiceProcess) -> None:
    with service.client() as client:
        run = client.run("aave_borrower", steps=4)
        events = list(client.events(run.run_id))
    ids = [event.id for event in events]
    assert ids == sorted(set(ids))
    assert (events[0].kind, events[-1].kind) == ("queued", "finished")
    for last in (0, ids[1], ids[-1], 10**6):
        answer = service.request("GET", f"/runs/{run.run_id}/events", headers={"Last-Event-ID": str(last)})
        assert answer.headers["content-type"].startswith("text/event-stream")
        sent = [int(line[4:]) for line in answer.text.splitlines() if line.startswith("id: ")]
        assert sent == [each for each in ids if each > last]


def test_a_run_of_the_command_line_has_one_final_event(service: ServiceProcess) -> None:
    run = run_scenario("aave_borrower", steps=2, store=service.store)
    text = service.request("GET", f"/runs/{run.run_id}/events").text
    assert [line for line in text.splitlines() if line.startswith("event:")] == ["event: finished"]
    assert service.request("DELETE", f"/runs/{run.run_id}").status_code == 409


@pytest.mark.parametrize(("method", "path"), [("GET", "/runs/none/events"), ("DELETE", "/runs/none")])
def test_an_unknown_run_is_not_found(service: ServiceProcess, method: str, path: str) -> None:
    answer = service.request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    answer = service.request(method, path.replace("runs", "sweeps"))
    assert answer.status_code == 404


@pytest.mark.slow(1)
def test_a_second_server_on_the_same_data_is_refused(service: ServiceProcess) -> None:
    command = [sys.executable, "-m", "mayavi", "serve", "--port", "0", "--data", str(service.folder / "data")]
    second = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert second.returncode == 2
    assert "another server uses the data folder" in second.stderr
    assert service.process is not None
    assert str(service.process.pid) in second.stderr
    assert httpx.get(f"{service.url}/healthz", timeout=300, verify=False).is_success


def test_no_key_is_in_the_environment_of_a_worker(service: ServiceProcess) -> None:
    until(service.workers)
    for pid in service.workers():
        assert KEY.encode() not in Path(f"/proc/{pid}/environ").read_bytes()


def test_a_worker_yields_to_the_server(service: ServiceProcess) -> None:
    until(service.workers)
    assert service.process is not None
    own = os.getpriority(os.PRIO_PROCESS, service.process.pid)
    for pid in service.workers():
        until(lambda pid=pid: os.getpriority(os.PRIO_PROCESS, pid) == own + NICENESS)


def test_no_process_of_the_service_may_import_code_that_a_text_names(service: ServiceProcess) -> None:
    until(service.workers)
    for pid in service.workers():
        assert b"MAYAVI_ALLOW_IMPORT_PATHS=0" in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")


def test_the_log_of_the_service_holds_no_key(service: ServiceProcess) -> None:
    assert KEY not in service.log.read_text()


@pytest.mark.slow
def test_a_run_beyond_the_time_limit_fails_and_the_next_one_runs(start_service: StartService) -> None:
    service = start_service("--job-seconds", "3")
    with service.client() as client:
        run = client.submit_run(yaml=LONG)
        after = client.submit_run("aave_borrower", steps=2)
        ended = client.wait(run.run_id)
        assert ended.status == "failed"
        assert ended.error.startswith("the time limit of 3 s for a run is over")
        assert "--job-seconds" in ended.error
        assert client.wait(after.run_id).status == "finished"
    assert [run.run_id for run in Store(service.store).runs()] == [after.run_id]


@pytest.mark.slow
def test_a_run_beyond_the_memory_limit_fails_and_says_what_the_limit_is(start_service: StartService) -> None:
    service = start_service("--job-memory-mb", "70")
    with service.client() as client:
        ended = client.wait(client.submit_run(yaml=LONG).run_id)
    assert ended.status == "failed"
    assert "MiB of memory, and the limit is 70 MiB" in ended.error
    assert "--job-memory-mb" in ended.error
    assert list(Store(service.store).runs()) == []


@pytest.mark.slow(8)
def test_a_stopped_server_queues_its_runs_again_and_ends_them_after_the_next_start(
    start_service: StartService, tmp_path: Path
) -> None:
    service = start_service()
    with service.client() as client:
        run = client.submit_run("aave_borrower", seed=3, steps=700)
        until_running(client, run.run_id)
        began = time.monotonic()
        assert service.stop() == 0
        assert time.monotonic() - began < 60
        service.start()
        ended = client.wait(run.run_id)
        kinds = [event.kind for event in client.events(run.run_id)]
    assert [kind for kind in kinds if kind != "progress"] == ["queued", "started", "retried", "started", "finished"]
    assert ended.digest == run_scenario("aave_borrower", seed=3, steps=700, store=tmp_path / "own.duckdb").digest
