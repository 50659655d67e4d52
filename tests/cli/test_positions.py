"""Positions and parameters on the command line: sweeps over parameters, and bundles that hold the book."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SCENARIO = """\
chain: ethereum
steps: 3
step_time: 5 minutes
prices: {WETH: {process: step, at: 1, size: -20%}}
positions: book.csv
agents: {bot: {kind: liquidator, frictionless: true}}
"""
BOOK = "account,asset,collateral,debt\nalice,WETH,10,\nalice,USDC,,17_000\nbob,WETH,10,\nbob,USDC,,15_000\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "crash.yaml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "book.csv").write_text(BOOK, encoding="utf-8")
    return tmp_path


@pytest.mark.slow(1)
def test_a_bundle_holds_the_book_and_is_verified_without_the_file(run_mayavi, folder: Path) -> None:
    done = run_mayavi("run", "crash.yaml", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout.splitlines()[-1])
    written = run_mayavi("artifact", run["run_id"], "--output", "b.zip", cwd=folder)
    assert written.returncode == 0, written.stderr
    (folder / "book.csv").unlink()
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    verified = run_mayavi("artifact", "verify", str(folder / "b.zip"), cwd=elsewhere)
    assert verified.returncode == 0, verified.stderr
    assert "verified: the run gave the same rows again" in verified.stdout


@pytest.mark.slow(2)
def test_a_grid_reaches_a_parameter(run_mayavi, folder: Path) -> None:
    grid = "parameters.aave_v3.WETH.liquidation_threshold=81%,86%"
    done = run_mayavi("sweep", "crash.yaml", "--seeds", "0:1", "--grid", grid, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    points = json.loads(done.stdout.splitlines()[-1])["points"]
    found = {point["overrides"][0]: point["figures"]["liquidated_accounts"]["maximum"] for point in points}
    threshold = "parameters.aave_v3.WETH.liquidation_threshold"
    assert found == {f"{threshold}=81%": 1, f"{threshold}=86%": 0}


@pytest.mark.slow(0.4)
def test_a_refused_book_and_a_refused_parameter_exit_with_2(run_mayavi, folder: Path) -> None:
    (folder / "book.csv").write_text(BOOK.replace("17_000", "24_000"), encoding="utf-8")
    refused = run_mayavi("run", "crash.yaml", cwd=folder)
    assert refused.returncode == 2
    assert "'book.csv': 1 of 2 accounts start with a health factor below 1: 'alice' 0.8" in refused.stderr
    assert "`allow_unhealthy: true` accepts them" in refused.stderr
    accepted = run_mayavi("run", "crash.yaml", "--set", "positions.allow_unhealthy=true", cwd=folder)
    assert accepted.returncode == 0, accepted.stderr
    parameter = run_mayavi("run", "crash.yaml", "--set", "parameters.aave_v3.WETH.ltv=99%", cwd=folder)
    assert parameter.returncode == 2
    assert (
        "parameters.aave_v3.WETH: the collateral parameters of WETH reverted: 20 INVALID_RESERVE_PARAMS"
        in parameter.stderr
    )


def test_scenarios_show_counts_the_accounts(run_mayavi, folder: Path) -> None:
    parameter = "parameters.aave_v3.WETH.ltv=70%"
    shown = run_mayavi("scenarios", "show", "crash.yaml", "--set", parameter, cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "parameters  aave_v3.WETH" in shown.stdout
    assert "positions: positions × 2" in shown.stdout
    as_json = run_mayavi("scenarios", "show", "crash.yaml", "--json", cwd=folder)
    document = json.loads(as_json.stdout.splitlines()[-1])
    assert document["scenario"]["agents"]["positions"]["file"] == "book.csv"
