"""The EIGEN unlock: the recorded unlocks reproduce, and every sale is what the Quoter said, to the unit."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from mayavi import Fork
from mayavi.protocols import UniswapV3
from mayavi.scenarios.build.build import build
from mayavi.scenarios.incidents.registry import load_incident
from mayavi.scenarios.incidents.replay import replay_incident
from mayavi.scenarios.loading import load_scenario

UNLOCKED = {
    "EIGEN of investors": Decimal("20189049.87"),
    "EIGEN of the foundation": Decimal("3000000"),
    "EIGEN of insiders": Decimal("18697690.05"),
}
ROUTE = ("EIGEN", "USDC", 3000)
SIZES = (1, 10**6, 10**18, 3_000_000 * 10**18, 18_697_690_050000000000000000, 500_000_000 * 10**18)


@pytest.mark.slow(0.3)
def test_the_incident_reproduces(tmp_path: Path) -> None:
    report = replay_incident("eigen_2025_10", store=tmp_path / "runs.duckdb")
    assert report.exact
    figures = report.runs["unlock"].figures
    assert {each.expected.asset: each.simulated for each in figures if each.expected.name == "unlocked"} == UNLOCKED
    lowest = next(each for each in figures if each.expected.name == "lowest price change of the day")
    # all of it into a pool of 2.04 billion: (1 / (1 + 0.997 · 41.887 / 2,040))² - 1
    expected = (1 / (1 + Decimal("0.997") * sum(UNLOCKED.values()) / 2_040_000_000)) ** 2 - 1
    assert lowest.simulated is not None
    assert abs(lowest.simulated - expected) < Decimal("1e-6")
    again = replay_incident("eigen_2025_10", store=tmp_path / "runs.duckdb")
    assert again.runs["unlock"].run.digest == report.runs["unlock"].run.digest


def test_every_sale_is_the_quoter_s_answer_to_the_unit() -> None:
    incident = load_incident("eigen_2025_10")
    scenario = load_scenario(incident.scenario("unlock"))
    built = build(scenario.config, Fork.replica("ethereum"), seed=0)
    built.scheduler.tick()  # nothing has unlocked yet
    fork = built.world.fork
    before = fork.copy()
    rows, _ = built.scheduler.tick()
    sales = [json.loads(row.details) for row in rows if row.kind == "sell"]
    assert len(sales) == len(UNLOCKED)
    uniswap = UniswapV3(before)
    seller = bytes([7]) * 20
    for sale in sales:  # the same sales in the same order, quoted before each
        sold, received = int(sale["sold"]), int(sale["received"])
        assert uniswap.quote_exact_input(ROUTE, sold).amount_out == received
        before.deal("EIGEN", seller, sold)
        assert uniswap.swap_exact_input(ROUTE, sold, sender=seller).amount_out == received


@pytest.mark.parametrize("amount", SIZES)
def test_the_quoter_is_bit_exact_on_the_incident_s_pool(amount: int) -> None:
    incident = load_incident("eigen_2025_10")
    built = build(load_scenario(incident.scenario("unlock")).config, Fork.replica("ethereum"), seed=0)
    fork, seller = built.world.fork, bytes([7]) * 20
    uniswap = UniswapV3(fork)
    for route in (ROUTE, ("USDC", "EIGEN", 3000)):
        with fork.snapshot():
            fork.deal(route[0], seller, amount)
            quoted = uniswap.quote_exact_input(route, amount).amount_out
            swapped = uniswap.swap_exact_input(route, amount, sender=seller).amount_out if quoted else 0
            assert swapped == quoted
