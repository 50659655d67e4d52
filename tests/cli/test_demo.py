"""`mayavi demo`: a borrower on the real Aave V3 contracts, offline and reproducible."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from mayavi import Fork, Store

WETH_LIQUIDATION_THRESHOLD_BPS = 8_300
DIGEST = "2fe3451f1f70d7b55c486f9ebf525c4e4b7820d4a7134f0b7e695e5565c76222"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def played(run_mayavi, folder: Path) -> dict:
    finished = run_mayavi("demo", "--seed", "7", "--json", cwd=folder)
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def test_the_table_shows_the_opening_and_four_steps(run_mayavi, folder: Path) -> None:
    finished = run_mayavi("demo", cwd=folder)
    assert (finished.returncode, finished.stderr) == (0, "")
    steps = re.findall(r"^ +(\d)  ([\d,]+)  \$([\d,.]+) +([\d.]+)  ([\d,.]+) +[\d.]+ %", finished.stdout, re.MULTILINE)
    assert [(step, block) for step, block, *_ in steps] == [
        ("0", "19,000,000"),
        ("1", "19,018,000"),
        ("2", "19,036,000"),
        ("3", "19,054,000"),
        ("4", "19,072,000"),
    ]
    assert steps[0][4] == "1,700.0000"
    assert re.search(r"^seed 7 · digest [0-9a-f]{64}$", finished.stdout, re.MULTILINE)
    assert "mayavi demo --seed 8" in finished.stdout


def test_the_debt_grows_by_the_borrow_rate(played: dict) -> None:
    debts = [int(row["debt_usdc_e6"]) for row in played["steps"]]
    yearly_ray = int(played["steps"][0]["borrow_rate_ray"])
    for before, after in pairwise(debts):
        expected = before * yearly_ray * 18_000 * 12 // (365 * 86_400) // 10**27
        assert after - before == pytest.approx(expected, rel=2e-3)  # Aave compounds by the second


def test_the_health_factor_follows_price_and_debt(played: dict) -> None:
    for row in played["steps"]:
        collateral = int(row["price_usd_e8"]) * WETH_LIQUIDATION_THRESHOLD_BPS / 10_000 / 10**8
        assert int(row["health_factor_wad"]) / 10**18 == pytest.approx(
            collateral / (int(row["debt_usdc_e6"]) / 10**6), rel=1e-3
        )


@pytest.mark.slow(0.3)
def test_the_seed_decides_the_price_and_the_digest(run_mayavi, folder: Path, played: dict) -> None:
    again = json.loads(run_mayavi("demo", "--seed", "7", "--json", cwd=folder).stdout)
    other = json.loads(run_mayavi("demo", "--seed", "8", "--json", cwd=folder).stdout)
    assert again | {"run_id": played["run_id"]} == played
    assert len({again["run_id"], other["run_id"], played["run_id"]}) == 3
    assert played["digest"] == DIGEST
    assert other["digest"] != played["digest"]
    assert other["steps"][0] == played["steps"][0]
    assert other["steps"][1]["price_usd_e8"] != played["steps"][1]["price_usd_e8"]


def test_the_number_of_steps_can_be_chosen(run_mayavi, folder: Path, played: dict) -> None:
    shorter = json.loads(run_mayavi("demo", "--steps", "2", "--json", cwd=folder).stdout)
    assert shorter["steps"] == played["steps"][:3]


@pytest.mark.slow(0.3)
def test_the_run_is_stored_with_what_the_table_shows(run_mayavi, folder: Path, played: dict) -> None:
    store = Store(folder / "data/runs/runs.duckdb")
    record = store.run(played["run_id"])
    assert (record.scenario, record.seed, record.steps, record.status) == ("demo", 7, 5, "finished")
    assert record.world_digest == Fork.replica("ethereum").digest()
    assert record.final_world_digest == DIGEST
    rows = {(row.step, row.subject, row.metric): row.value for row in store.snapshots(record.run_id)}
    for row in played["steps"]:
        assert rows[row["step"], "AaveV3.WETH", "price"] == row["price_usd_e8"]
        assert rows[row["step"], "borrower", "health_factor"] == row["health_factor_wad"]
        assert rows[row["step"], "AaveV3.USDC", "borrow_rate"] == row["borrow_rate_ray"]
    assert [row.kind for row in store.actions(record.run_id)] == ["open", *["post_price"] * 4]

    shown = run_mayavi("runs", "show", played["run_id"], cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "health factor borrower   1.1847" in shown.stdout
    refused = run_mayavi("artifact", played["run_id"], cwd=folder)
    assert refused.returncode == 2
    assert "has no scenario" in refused.stderr


def test_its_report_names_the_command_that_repeats_it(folder: Path, played: dict) -> None:
    from mayavi.report.builder import run_page

    page = run_page(Store(folder / "data/runs/runs.duckdb"), played["run_id"])
    assert page.provenance.command == "mayavi demo --seed 7 --steps 4"
    assert page.verdict.badge == "SOLVENT"


@pytest.mark.slow(0.4)
def test_the_store_can_be_chosen_and_a_store_that_cannot_be_used_is_no_reason_to_stop(
    run_mayavi, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.duckdb"
    assert run_mayavi("demo", "--store", str(mine), cwd=tmp_path).returncode == 0
    assert [each.scenario for each in Store(mine).runs()] == ["demo"]
    mine.rename(tmp_path / "folder")
    mine.mkdir()
    refused = run_mayavi("demo", "--store", str(mine), cwd=tmp_path)
    assert (refused.returncode, "is a folder, not a database" in refused.stderr) == (1, True)
    plain = run_mayavi("demo", env={"MAYAVI_STORE": str(mine)}, cwd=tmp_path)
    assert plain.returncode == 0
    assert "not stored: " in plain.stdout


@pytest.mark.parametrize("seed", ["-1", "9223372036854775808"])
def test_a_seed_that_no_run_can_have_is_refused(run_mayavi, tmp_path: Path, seed: str) -> None:
    refused = run_mayavi("demo", "--seed", seed, cwd=tmp_path)
    assert refused.returncode == 2
    assert f"seed {seed} is out of range" in refused.stderr
    assert not list(tmp_path.iterdir())
