"""Liquidations of scenarios on a world whose Aave is V3.6: deficits, and no dust."""

from __future__ import annotations

import pytest

from mayavi.protocols import AaveV3
from mayavi.scenarios.build.build import build
from mayavi.scenarios.loading import load_scenario

ON_WORLD = "world=ethereum@2025-12"
CRASH = "prices.WETH={process: step, at: 2, size: -55%}"


@pytest.mark.slow(0.3)
def test_debt_without_collateral_is_bad_debt_and_a_deficit() -> None:
    scenario = load_scenario("depeg_cascade", steps=6, overrides=[ON_WORLD, CRASH, "agents.borrowers.count=30"])
    built = build(scenario.config, scenario.world().open(), 7)
    for _ in range(built.steps):
        built.scheduler.tick()
    kpis = {row.name: int(row.value) for row in built.kpis(built.world)}
    market = AaveV3(built.world.fork)
    assert market.generation.version == "3.6"
    deficit, usdc = market.deficit("USDC"), market.reserve("USDC")
    assert deficit
    assert kpis["deficit"] == pytest.approx(deficit * usdc.price_usd_e8 // 10**usdc.decimals, rel=1e-6)
    assert kpis["bad_debt"] >= kpis["deficit"] > 0
    assert kpis["bad_debt"] == sum(int(row.bad_debt) for row in built.accounts())


def test_liquidators_leave_no_dust() -> None:
    """No liquidation of a cascade is refused for its amount."""
    overrides = ["agents.borrowers.count=40", "agents.borrowers.size_usd={lognormal: {median: 3_000, sigma: 1}}"]
    scenario = load_scenario("depeg_cascade", steps=8, overrides=[ON_WORLD, *overrides])
    built = build(scenario.config, scenario.world().open(), 7)
    rows = [row for _ in range(built.steps) for row in built.scheduler.tick()[0]]
    assert sum(row.kind == "liquidate" and row.status == "success" for row in rows) > 5
    assert not [row.reason for row in rows if "Dust" in row.reason or "InvalidBurn" in row.reason]
