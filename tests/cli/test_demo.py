"""`mayavi demo`: a borrower on the real Aave V3 contracts, offline and reproducible."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest

WETH_LIQUIDATION_THRESHOLD_BPS = 8_300


@pytest.fixture(scope="module")
def played(run_mayavi) -> dict:
    finished = run_mayavi("demo", "--seed", "7", "--json")
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def test_the_table_shows_the_opening_and_four_steps(run_mayavi) -> None:
    finished = run_mayavi("demo")
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


def test_the_seed_decides_the_price_and_the_digest(run_mayavi, played: dict) -> None:
    again = json.loads(run_mayavi("demo", "--seed", "7", "--json").stdout)
    other = json.loads(run_mayavi("demo", "--seed", "8", "--json").stdout)
    assert again == played
    assert other["digest"] != played["digest"]
    assert other["steps"][0] == played["steps"][0]
    assert other["steps"][1]["price_usd_e8"] != played["steps"][1]["price_usd_e8"]


def test_the_number_of_steps_can_be_chosen(run_mayavi, played: dict) -> None:
    shorter = json.loads(run_mayavi("demo", "--steps", "2", "--json").stdout)
    assert shorter["steps"] == played["steps"][:3]
