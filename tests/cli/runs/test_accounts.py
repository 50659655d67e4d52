"""`mayavi runs accounts`: who has bad debt, and why an unhealthy account is left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mayavi
from mayavi.sim.store import Store
from tests.sim.store.sample_runs import store_run

MARKET = """\
name: market
chain: ethereum
steps: 3
step_time: 1h
prices: {WETH: {process: step, at: 1, size: -30%}}
agents:
  people: {kind: borrower, count: 8, collateral: WETH, debt: USDC, health_factor: {uniform: [1.05, 3]}}
  bot: {kind: liquidator, capital: {USDC: 5_000_000}}
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("accounts")
    (folder / "market.yaml").write_text(MARKET)
    mayavi.run(folder / "market.yaml", seed=2, store=folder / "runs.duckdb")
    return folder / "runs.duckdb"


def test_touched_accounts_are_shown_first_and_all_on_demand(store: Path, run_mayavi) -> None:
    rows = Store(store).accounts("latest").records()
    touched = [row for row in rows if row.liquidations]
    assert 0 < len(touched) < len(rows) == 8
    few = run_mayavi("runs", "accounts", "latest", "--store", str(store))
    assert few.returncode == 0
    assert few.stdout.count("people-") == len(touched)
    assert f"8 accounts: {len(touched)} liquidated" in few.stdout
    assert "`--all` shows them" in few.stdout
    everybody = run_mayavi("runs", "accounts", "latest", "--all", "--store", str(store))
    assert everybody.stdout.count("people-") == 8


def test_json_has_every_account_with_exact_integers(store: Path, run_mayavi) -> None:
    answer = json.loads(run_mayavi("runs", "accounts", "latest", "--json", "--store", str(store)).stdout)
    assert [each["account"] for each in answer["accounts"]] == [f"people-{at}" for at in range(8)]
    total = sum(int(each["bad_debt"]) for each in answer["accounts"])
    assert str(total) == next(row.value for row in Store(store).kpis("latest") if row.name == "bad_debt")


def test_a_run_without_borrowers_says_so(tmp_path: Path, run_mayavi) -> None:
    store_run(tmp_path / "runs.duckdb")
    answer = run_mayavi("runs", "accounts", "latest", "--store", str(tmp_path / "runs.duckdb"))
    assert answer.returncode == 0
    assert "no borrowing accounts on record" in answer.stdout


def test_an_unknown_run_is_misuse(store: Path, run_mayavi) -> None:
    answer = run_mayavi("runs", "accounts", "nonsense", "--store", str(store))
    assert answer.returncode == 2
    assert "nonsense" in answer.stderr
