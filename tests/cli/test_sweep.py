"""`mayavi sweep`: many runs, one summary; interrupted or killed, it goes on and ends with the same digests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mayavi.sim.store import Store
from mayavi.statistics.quantiles import quantile
from tests.interruption import heed_interruptions

SMALL = ("depeg_cascade", "--set", "agents.borrowers.count=6", "--set", "prices.WETH.at=1")


def swept(finished: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert finished.returncode == 0, finished.stderr
    found: dict[str, Any] = json.loads(finished.stdout)
    return found


def digests(found: dict[str, Any]) -> list[str]:
    return [run["digest"] for run in found["runs"]]


@pytest.mark.slow
def test_every_seed_is_run_stored_and_summarised(run_mayavi, tmp_path: Path) -> None:
    store = tmp_path / "runs.duckdb"
    options = ("sweep", *SMALL, "--steps", "4", "--seeds", "0:4,9", "--store", str(store), "--json")
    found = swept(run_mayavi(*options, "--jobs", "2"))
    assert [run["seed"] for run in found["runs"]] == ["0", "1", "2", "3", "9"]
    records = {record.run_id: record for record in Store(store).runs(sweep_id=found["sweep_id"])}
    assert {run["run_id"]: run["digest"] for run in found["runs"]} == {
        run_id: record.digest for run_id, record in records.items()
    }
    assert len(set(digests(found))) == 5
    (point,) = found["points"]
    bad_debt = [
        kpi.number for run in found["runs"] for kpi in Store(store).kpis(run["run_id"]) if kpi.name == "bad_debt"
    ]
    summary = point["figures"]["bad_debt"]
    assert summary["count"] == 5
    assert summary["mean"]["value"] == pytest.approx(sum(bad_debt) / 5)
    assert point["VaR"]["value"] == summary["p95"]["value"] == pytest.approx(quantile(bad_debt, 0.95))
    assert point["VaR"]["low"] <= point["VaR"]["value"]
    assert (point["VaR"]["high"], point["VaR"]["runs_needed"]) == (None, 59)
    assert point["LaR"] == point["figures"]["liquidated"]["p95"]
    assert point["ES"] == summary["expected_shortfall"]
    assert point["ES"]["value"] == pytest.approx(max(bad_debt))
    assert point["probability_of_loss"]["value"] == sum(each > 0 for each in bad_debt) / 5
    assert (summary["mean"]["low"], summary["mean"]["runs_needed"]) == (None, 20)
    assert found["until"] is None

    again = swept(run_mayavi(*options))  # everything is there: nothing runs, all is told again
    assert again["resumed"] == 5
    assert {key: again[key] for key in ("sweep_id", "runs", "points")} == {
        key: found[key] for key in ("sweep_id", "runs", "points")
    }
    alone = swept(run_mayavi(*options, "--jobs", "1", "--store", str(tmp_path / "other.duckdb")))
    assert (digests(alone), alone["points"]) == (digests(found), found["points"])
    assert Store(store).sweep(found["sweep_id"]).status == "finished"


@pytest.mark.slow(2)
def test_a_grid_is_summarised_point_by_point(run_mayavi, tmp_path: Path) -> None:
    options = ("--seeds", "0:2", "--steps", "4", "--jobs", "2", "--store", str(tmp_path / "runs.duckdb"))
    finished = run_mayavi("sweep", *SMALL, *options, "--grid", "prices.WETH.size=-10%,-60%")
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines()[0].startswith("depeg_cascade · ethereum · 4 runs · sweep-")
    (header,) = [line for line in finished.stdout.splitlines() if line.startswith("prices.WETH.size")]
    for word in ("bad debt, mean", "VaR", "liquidated, mean", "LaR", "95 % interval", "ES"):
        assert word in header
    mild, hard = (line.split() for line in finished.stdout.splitlines() if line.split()[:1] in (["-10%"], ["-60%"]))
    assert mild[:3] == ["-10%", "$0", "$0"]
    assert hard[0] == "-60%"
    assert hard[2] not in {"$0", "–"}
    sweep_id = finished.stdout.splitlines()[0].split(" · ")[-1]
    assert sweep_id in finished.stdout.splitlines()[-1]
    data = swept(run_mayavi("sweep", *SMALL, *options, "--grid", "prices.WETH.size=-10%,-60%", "--json"))
    assert [run["overrides"] for run in data["runs"]] == [["prices.WETH.size=-10%"], ["prices.WETH.size=-60%"]] * 2


@pytest.mark.slow(1)
def test_one_number_is_one_seed_and_a_note_says_so(run_mayavi, tmp_path: Path) -> None:
    options = ("sweep", *SMALL, "--steps", "2", "--store", str(tmp_path / "runs.duckdb"), "--jobs", "1")
    one = run_mayavi(*options, "--seeds", "5")
    assert one.returncode == 0, one.stderr
    assert "note: one seed: 5; 0:5 are 5 seeds" in one.stderr
    assert "1 run · " in one.stdout
    assert "one run has no quantiles" in one.stdout
    assert "p95" not in one.stdout
    assert "in 1 of 1 runs" not in one.stdout
    assert "one seed" not in run_mayavi(*options, "--seeds", "5:7").stderr


@pytest.mark.slow(2)
def test_few_runs_say_which_bounds_are_missing_and_how_many_runs_they_take(run_mayavi, tmp_path: Path) -> None:
    finished = run_mayavi("sweep", *SMALL, "--seeds", "0:3", "--steps", "4", "--store", str(tmp_path / "runs.duckdb"))
    assert finished.returncode == 0, finished.stderr
    lines = {line.split("  ")[0]: line for line in finished.stdout.splitlines()}
    assert "(at least $" in lines["VaR"]
    assert lines["VaR"].endswith("59 runs are needed for an upper bound)")
    assert lines["ES"].endswith("100 runs are needed for an upper bound)")
    assert lines["mean"].endswith("(no interval; about 20 runs are needed for an interval)")
    assert " % to " in lines["P(loss)"]


@pytest.mark.slow(3)
def test_a_target_out_of_budget_fails_and_the_same_command_continues(run_mayavi, tmp_path: Path) -> None:
    options = (
        "sweep",
        *SMALL,
        "--steps",
        "2",
        "--seeds",
        "0:3",
        "--store",
        str(tmp_path / "runs.duckdb"),
        "--jobs",
        "1",
    )
    short = run_mayavi(*options, "--until", "VaR ±10%", "--most", "4")
    assert short.returncode == 1
    assert "error: VaR ±10 % is not reached with 4 seeds (--most 4): VaR $" in short.stderr
    assert "the runs are kept; at least 69 seeds are needed: the same command with --most 69" in short.stderr
    assert "until VaR ±10 %, at most 4 runs" in short.stdout
    reached = run_mayavi(*options, "--until", "p50(transactions) +-95%", "--most", "9")
    assert reached.returncode == 0, reached.stderr
    assert "(4 were stored before)" in reached.stdout
    assert reached.stdout.splitlines()[-1].startswith("reached: p50(transactions) ±95 %")
    failed = run_mayavi(*options, "--until", "VaR ±10%", "--most", "4", "--json")
    assert failed.returncode == 1
    assert json.loads(failed.stdout)["until"]["reached"] is False


LONG = (*SMALL, "--steps", "60", "--seeds", "0:6", "--jobs", "2")


@pytest.fixture(scope="module")
def undisturbed(run_mayavi, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The digests of a sweep that nobody disturbed."""
    store = tmp_path_factory.mktemp("undisturbed") / "runs.duckdb"
    return digests(swept(run_mayavi("sweep", *LONG, "--store", str(store), "--json")))


def begin(store: Path) -> subprocess.Popen[str]:
    """A sweep under way, as a shell starts it, of which at least one run is done and one is not."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mayavi", "sweep", *LONG, "--store", str(store)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_interruptions,
    )
    wait_for(lambda: statuses(store).count("finished") >= 1 and "running" in statuses(store), process)
    return process


def statuses(store: Path) -> list[str]:
    return [record.status for record in Store(store).runs()]


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, "the sweep was over before it could be disturbed"
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
def test_killed_it_leaves_an_open_database_and_goes_on_to_the_same_digests(
    run_mayavi, tmp_path: Path, undisturbed: list[str]
) -> None:
    store = tmp_path / "runs.duckdb"
    process = begin(store)
    process.kill()  # signal 9, to the parent alone: its workers end by themselves
    process.communicate()
    deadline = time.monotonic() + 60
    while "running" in statuses(store):
        assert time.monotonic() < deadline, "a worker lives on"
        time.sleep(0.05)
    found = statuses(store)
    assert "interrupted" in found
    kept = found.count("finished")
    assert 1 <= kept < 6
    resumed = swept(run_mayavi("sweep", *LONG, "--store", str(store), "--json"))
    assert resumed["resumed"] == kept
    assert digests(resumed) == undisturbed
    assert all(Store(store).digest(run["run_id"]) == run["digest"] for run in resumed["runs"])


@pytest.mark.slow
def test_interrupted_it_says_how_to_go_on_and_does(run_mayavi, tmp_path: Path, undisturbed: list[str]) -> None:
    store = tmp_path / "runs.duckdb"
    process = begin(store)
    os.killpg(process.pid, signal.SIGINT)  # what Ctrl-C sends
    told, errors = process.communicate(timeout=600)
    assert process.returncode == 130, errors
    assert f"mayavi sweep {' '.join(LONG)}" in errors
    assert "Traceback" not in told + errors
    found = statuses(store)
    assert "running" not in found
    kept = found.count("finished")
    assert 1 <= kept < 6
    assert f"interrupted: {kept} of 6 runs are done and kept" in errors
    assert Store(store).sweeps().records()[0].status == "interrupted"
    resumed = swept(run_mayavi("sweep", *LONG, "--store", str(store), "--json"))
    assert resumed["resumed"] == kept
    assert digests(resumed) == undisturbed
    assert statuses(store) == ["finished"] * 6  # what was cut off is replaced


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced(tmp_path: Path, undisturbed: list[str]) -> None:
    store = tmp_path / "runs.duckdb"
    process = begin(store)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)
    told, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    finished = {record.seed: record.digest for record in Store(store).runs() if record.status == "finished"}
    assert [finished[seed] for seed in range(6)] == undisturbed
    assert "VaR" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "0:4", "--jobs", "0"], "0 is not a number of processes"),
        (["--seeds", "0:4", "--jobs", "-2"], "-2 is not a number of processes"),
        (["--seeds", "0:4", "--jobs", "two"], "two"),
        (["--seeds", "4:0"], "'4:0' holds no seed"),
        (["--seeds", "x"], "'x' names no seeds"),
        (["--seeds", str(2**63)], "is out of range"),
        ([], "--seeds"),
        (["--until", "VaR 10%"], "'VaR 10%' is not a valid target of a sweep"),
        (["--until", "VaR ±10%", "--most", "50", "--seeds", "0:60"], "--most 50 is less than the 60 seeds"),
        (["--until", "VaR ±10%", "--most", "0", "--seeds", "0:1"], "--most 0 is less than the 1 seed to start with"),
        (["--seeds", "0:4", "--most", "50"], "a budget without a target"),
        (["--seeds", "0:4", "--grid", "agents.borrowers.count"], "is not a valid axis of a grid"),
        (["--seeds", "0:4", "--grid", "agents.borrowers.cuont=1,2"], "unknown key 'cuont'"),
        (["--seeds", "0:4", "--grid", "agents.borrowers.count=1,-2"], "-2"),
        (["--seeds", "0:4", "--chain", "etherium"], "unknown chain 'etherium'"),
        (["--seeds", "0:4", "--steps", "0"], "steps"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_swept_is_a_misuse_and_stores_nothing(
    run_mayavi, tmp_path: Path, arguments: list[str], message: str
) -> None:
    finished = run_mayavi("sweep", "depeg_cascade", *arguments, "--store", str(tmp_path / "runs.duckdb"))
    assert finished.returncode == 2, finished.stderr
    assert message in finished.stderr
    assert finished.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--grid", "foo=1,2"], "error: --grid foo=1: unknown key 'foo'"),
        (["--grid", "agents.foo.x=1,2"], "'--grid agents.foo.x=1': there is no 'foo' in agents"),
        (
            ["--grid", "agents.borrowers.collateral=WETH,FOO"],
            "error: --grid agents.borrowers.collateral=FOO: agents.borrowers: unknown asset of Aave V3 'FOO'",
        ),
    ],
)
def test_what_is_wrong_with_a_grid_is_told_by_its_own_name_and_stores_nothing(
    run_mayavi, tmp_path: Path, arguments: list[str], message: str
) -> None:
    finished = run_mayavi("sweep", "depeg_cascade", "--seeds", "0:2", *arguments, "--store", str(tmp_path / "r.duckdb"))
    assert (finished.returncode, finished.stdout) == (2, "")
    assert message in finished.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_misspelt_scenario_is_named_before_seeds_are_missed(run_mayavi) -> None:
    finished = run_mayavi("sweep", "depeg_casacde")
    assert finished.returncode == 2
    assert "did you mean" in finished.stderr
    assert "seeds" not in finished.stderr


@pytest.mark.slow(1)
def test_runs_that_were_stored_are_not_checked_and_a_note_says_so(run_mayavi, tmp_path: Path) -> None:
    sweep = (
        "sweep",
        "aave_borrower",
        "--seeds",
        "0:2",
        "--jobs",
        "1",
        "--stats",
        "--store",
        str(tmp_path / "r.duckdb"),
    )
    first, again, checked = (run_mayavi(*sweep, "--specialise", mode) for mode in ("check", "off", "check"))
    assert "note" not in first.stderr
    assert "note" not in again.stderr
    assert "note: not checked, because they were stored before: 2 runs; another --store runs all" in checked.stderr
