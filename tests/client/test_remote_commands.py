"""`mayavi run --remote` and `mayavi sweep --remote` print what the local commands print."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mayavi.client import Client
from tests.api.queue.service_process import KEY, LONG, ServiceProcess
from tests.conftest import RunMayavi
from tests.interruption import heed_interruptions

WITH_KEY = {"MAYAVI_API_KEY": KEY}


@pytest.mark.slow(1)
def test_a_remote_run_prints_the_summary_of_a_local_run(
    run_mayavi: RunMayavi, service: ServiceProcess, tmp_path: Path
) -> None:
    options = ["run", "depeg_cascade", "--seed", "3", "--steps", "6", "--set", "agents.borrowers.count=20"]
    local = run_mayavi(*options, "--store", str(tmp_path / "runs.duckdb"))
    remote = run_mayavi(*options, "--remote", service.url, env=WITH_KEY)
    assert (local.returncode, remote.returncode) == (0, 0), remote.stderr
    here, there = local.stdout.splitlines(), remote.stdout.splitlines()
    assert there[0].partition(" · run ")[0] == here[0].partition(" · run ")[0]
    assert there[1:-1] == here[1:-1]
    assert there[-1].partition(" · ")[0] == here[-1].partition(" · ")[0]
    assert f"{service.url}/app/runs/" in there[-1]
    assert KEY not in remote.stdout + remote.stderr


@pytest.mark.slow(1)
def test_a_remote_run_of_a_file_sends_the_files_it_names(
    run_mayavi: RunMayavi, service: ServiceProcess, tmp_path: Path
) -> None:
    (tmp_path / "prices.csv").write_text("time,price\n0,2500\n3600,2400\n7200,2300\n")
    path = "prices:\n  WETH: {process: path, file: prices.csv, anchored: false, fill: hold}\n"
    (tmp_path / "mine.yaml").write_text(LONG.replace("name: long\n", "").replace("1_000_000", "3") + path)
    (tmp_path / "key").write_text(f"{KEY}\n")
    mine = ["run", str(tmp_path / "mine.yaml"), "--json"]
    local = run_mayavi(*mine, "--store", str(tmp_path / "runs.duckdb"))
    remote = run_mayavi(*mine, "--remote", service.url, "--key-file", str(tmp_path / "key"))
    assert (local.returncode, remote.returncode) == (0, 0), local.stderr + remote.stderr
    here, there = json.loads(local.stdout), json.loads(remote.stdout)
    assert set(here) == set(there)
    for name in ("scenario", "chain", "seed", "steps", "status", "digest", "kpis", "notes", "error"):
        assert there[name] == here[name]
    assert (there["scenario"], there["store"]) == ("mine", service.url)


@pytest.mark.slow(3)
def test_a_remote_sweep_prints_the_statistics_of_a_local_sweep(
    run_mayavi: RunMayavi, service: ServiceProcess, tmp_path: Path
) -> None:
    options = ["sweep", "aave_borrower", "--seeds", "0:3", "--grid", "steps=2,3"]
    local = run_mayavi(*options, "--store", str(tmp_path / "runs.duckdb"), "--json")
    remote = run_mayavi(*options, "--remote", service.url, "--json", env=WITH_KEY)
    assert remote.returncode == 0, remote.stderr
    here, there = json.loads(local.stdout), json.loads(remote.stdout)
    assert there["points"] == here["points"]
    assert sorted(run["digest"] for run in there["runs"]) == sorted(run["digest"] for run in here["runs"])
    text = run_mayavi(*options, "--remote", service.url, env=WITH_KEY)
    assert f"{service.url}/app/sweeps/" in text.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "aave_borrower", "--remote", "URL", "--store", "x.duckdb"], "--store cannot be given with --remote"),
        (["run", "aave_borrower", "--remote", "URL", "--snapshot", "x"], "--snapshot cannot be given with --remote"),
        (["run", "aave_borrower", "--remote", "URL", "--threads", "2"], "--threads cannot be given with --remote"),
        (["run", "aave_borrower", "--remote", "URL", "--rpc-url", "http://x"], "--rpc-url cannot be given"),
        (["run", "aave_borrower", "--key-file", "x"], "--key-file belongs to --remote"),
        (["sweep", "aave_borrower", "--key-file", "x", "--seeds", "0:2"], "--key-file belongs to --remote"),
        (["sweep", "aave_borrower", "--remote", "URL", "--seeds", "0:2", "--jobs", "2"], "--jobs cannot be given"),
        (["sweep", "aave_borrower", "--remote", "URL", "--until", "VaR ±10%"], "--until cannot be given"),
        (["sweep", "aave_borrower", "--remote", "URL"], "there are no seeds"),
        (["run", "aave_borrower", "--remote", "localhost"], "not the address of a service"),
        (["run", "aave_borrower", "--remote", "URL", "--key-file", "/nowhere"], "cannot be read"),
        (["run", "aave_borower", "--remote", "URL"], "unknown scenario 'aave_borower'"),
        (["run", "/nowhere.yaml", "--remote", "URL"], "there is no scenario at"),
        (["run", "aave_borrower", "--remote", "URL", "--set", "steps"], "does not set anything"),
        (["run", "aave_borrower", "--remote", "URL", "--set", "positions=/etc/passwd"], "reads no files"),
    ],
)
def test_misuse_is_explained_with_exit_code_2(
    run_mayavi: RunMayavi, service: ServiceProcess, arguments: list[str], message: str
) -> None:
    named = [service.url if word == "URL" else word for word in arguments]
    found = run_mayavi(*named, env=WITH_KEY)
    assert (found.returncode, message in found.stderr) == (2, True), found.stderr
    assert KEY not in found.stderr


def test_without_a_key_the_way_to_give_one_is_named(run_mayavi: RunMayavi, service: ServiceProcess) -> None:
    found = run_mayavi("run", "aave_borrower", "--remote", service.url, env={"MAYAVI_API_KEY": ""})
    assert found.returncode == 2
    assert "--key-file FILE" in found.stderr


@pytest.mark.slow(1)
def test_ctrl_c_says_how_to_follow_the_run_which_goes_on(
    service: ServiceProcess, client: Client, tmp_path: Path
) -> None:
    (tmp_path / "long.yaml").write_text(LONG)
    command = [sys.executable, "-m", "mayavi", "run", str(tmp_path / "long.yaml"), "--remote", service.url]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | WITH_KEY,
        preexec_fn=heed_interruptions,
    ) as process:
        assert process.stdout is not None
        run_id = process.stdout.readline().rpartition(" run ")[2].strip()
        for event in client.events(run_id):
            if event.kind == "progress":
                break
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert f"the run goes on: {service.url}/app/runs/{run_id}" in errors
    assert client.show(run_id).status == "running"
    client.cancel(run_id)
    assert client.wait(run_id).status == "cancelled"
