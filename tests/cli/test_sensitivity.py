"""`mayavi sensitivity`: a table of assumptions, the largest effect first; interrupted or killed, it goes on."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mayavi.scenarios.models.assumptions.rules import RULES
from mayavi.sim.store import Store
from tests.interruption import heed_interruptions
from tests.pages import page

SMALL = (
    *("sensitivity", "depeg_cascade", "--set", "agents.borrowers.count=6", "--set", "prices.WETH.at=1"),
    *("--set", "prices.WETH.size=-45%"),
)
QUICK = (*SMALL, "--steps", "3", "--seeds", "0:6", "--figure", "liquidator_profit", "--only", "gas", "--jobs", "1")


def analysed(finished: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert finished.returncode == 0, finished.stderr
    found: dict[str, Any] = json.loads(finished.stdout)
    return found


def compared(found: dict[str, Any]) -> dict[str, Any]:
    return {key: found[key] for key in ("sweep_id", "base", "assumptions", "skipped", "notes", "runs")}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store for all tests of the quick analysis, which is run once."""
    return str(tmp_path_factory.mktemp("quick") / "runs.duckdb")


@pytest.mark.slow(2)
def test_a_table_with_the_largest_effect_first(run_mayavi, store: str) -> None:
    finished = run_mayavi(*QUICK, "--store", store)
    assert finished.returncode == 0, finished.stderr
    lines = finished.stdout.splitlines()
    assert lines[0].startswith("depeg_cascade · ethereum · 4 moves and the base with 6 seeds each · sweep-")
    assert lines[2].startswith("liquidator profit: mean ")
    head = lines.index(next(line for line in lines if line.startswith("assumption")))
    for column in ("base", "moved to", "difference", "95 % interval", "less │ more"):
        assert column in lines[head]
    assert [line.split()[0] for line in lines[head + 1 : head + 5 : 2]] == ["gas.base_fee", "gas.priority_fee"]
    assert "█" in lines[head + 1]
    found = analysed(run_mayavi(*QUICK, "--store", store, "--json"))
    assert found["resumed"] == found["runs"] == 30
    sizes = [max(abs(move["difference"]["value"]) for move in each["moves"]) for each in found["assumptions"]]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.slow(2)
def test_the_json_object(run_mayavi, store: str) -> None:
    options = ("--store", store, "--json", "--only", "agents.liquidators.least_profit")
    found = analysed(run_mayavi(*QUICK, *options))
    assert set(found) == {
        *("sweep_id", "scenario", "chain", "figure", "unit", "seeds", "base", "assumptions", "skipped", "notes"),
        *("runs", "resumed", "seconds", "store"),
    }
    assert (found["scenario"], found["chain"]) == ("depeg_cascade", "ethereum")
    assert (found["figure"], found["unit"]) == ("liquidator_profit", "usd_e8")
    assert set(found["base"]) == {"mean"}
    assert found["skipped"] == [
        {
            "assumption": "agents.liquidators.least_profit",
            "value": None,
            "reason": "is 0, which has no half and no double",
        }
    ]
    for each in found["assumptions"]:
        assert set(each) == {"assumption", "base", "moves"}
        for move in each["moves"]:
            assert set(move) == {"value", "overrides", "mean", "difference"}
            difference = move["difference"]
            assert set(difference) == {"value", "low", "high", "pairs", "verdict", "pairs_needed"}
            assert difference["pairs"] == 6
            without = difference["verdict"] == "no_interval"
            assert without == (difference["low"] is None) == (difference["high"] is None)
            assert without or difference["low"] <= difference["value"] <= difference["high"]


PAGE = page("how-to/find-decisive-assumptions.md")


def test_the_page_lists_every_rule_of_the_table_in_code() -> None:
    moves = PAGE.section("Default moves")
    for rule in RULES:
        assert f"| {rule.words} |" in moves or f"| {rule.words};" in moves, rule.name


@pytest.mark.slow
def test_the_example_of_the_page_prints_what_it_shows(run_mayavi, tmp_path: Path) -> None:
    words = shlex.split(PAGE.commands("mayavi sensitivity")[1])[1:]
    finished = run_mayavi(*words, "--store", str(tmp_path / "runs.duckdb"))
    assert finished.returncode == 0, finished.stderr
    assert PAGE.block_starting("liquidated: mean").strip() in finished.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--only", "gas.base"), "unknown assumption 'gas.base'"),
        (("--assumption", "gas.base_fee=9 gwei,9 gwei"), "9 gwei and 9 gwei are the same value"),
        (("--assumption", "agents.liquidators.cont=1,2"), "--assumption agents.liquidators.cont=1: unknown key 'cont'"),
        (("--assumption", "gas.base_fee"), "gives no values"),
        (("--seeds", "5:2"), "holds no seed"),
        (("--jobs", "0"), "is not a number of processes"),
        (("--figure", "bad_dept", "--steps", "1", "--set", "prices.WETH.at=0"), "unknown figure 'bad_dept'"),
    ],
)
def test_misuse_exits_with_two(run_mayavi, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    finished = run_mayavi(*QUICK, "--store", str(tmp_path / "runs.duckdb"), *options)
    assert finished.returncode == 2
    assert message in finished.stderr
    assert "Traceback" not in finished.stderr


LONG = (*SMALL, "--steps", "20", "--seeds", "0:3", "--only", "gas.base_fee", "--jobs", "2")


@pytest.fixture(scope="module")
def undisturbed(run_mayavi, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The result of an analysis that nobody disturbed."""
    store = tmp_path_factory.mktemp("undisturbed") / "runs.duckdb"
    return compared(analysed(run_mayavi(*LONG, "--store", str(store), "--json")))


def statuses(store: Path) -> list[str]:
    return [record.status for record in Store(store).runs()]


def begin(store: Path) -> subprocess.Popen[str]:
    """An analysis under way of which at least one run is done and one is not."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mayavi", *LONG, "--store", str(store)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_interruptions,
    )
    deadline = time.monotonic() + 120
    while statuses(store).count("finished") < 1 or "running" not in statuses(store):
        assert process.poll() is None, "the analysis was over before it could be disturbed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


@pytest.mark.slow
def test_killed_it_goes_on_to_the_same_result(run_mayavi, tmp_path: Path, undisturbed: dict[str, Any]) -> None:
    store = tmp_path / "runs.duckdb"
    process = begin(store)
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 60
    while "running" in statuses(store):
        assert time.monotonic() < deadline, "a worker lives on"
        time.sleep(0.05)
    kept = statuses(store).count("finished")
    assert 1 <= kept < 9
    resumed = analysed(run_mayavi(*LONG, "--store", str(store), "--json"))
    assert resumed["resumed"] == kept
    assert compared(resumed) == undisturbed
    assert statuses(store) == ["finished"] * 9


@pytest.mark.slow
def test_interrupted_it_says_how_to_go_on_and_does(run_mayavi, tmp_path: Path, undisturbed: dict[str, Any]) -> None:
    store = tmp_path / "runs.duckdb"
    process = begin(store)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 130
    assert " of 9 runs are done and kept" in errors
    assert "the same command continues with the rest: mayavi sensitivity depeg_cascade" in errors
    resumed = analysed(run_mayavi(*LONG, "--store", str(store), "--json"))
    assert resumed["resumed"] >= 1
    assert compared(resumed) == undisturbed
