"""Scenarios on the worlds of later markets, whose Aave is V3.6."""

from __future__ import annotations

import pytest

from mayavi.errors import BadScenario
from mayavi.protocols import AaveV3
from mayavi.scenarios import registry
from mayavi.scenarios.build.build import build
from mayavi.scenarios.loading import Scenario, load_scenario
from mayavi.scenarios.run.determinism import Trial, prepare

WORLD = "ethereum@2025-12"
CRASH = "prices.WETH={process: step, at: 2, size: -55%}"


def outcomes(scenario: Scenario) -> list[tuple[str, str]]:
    """Run `scenario` twice; digests of its rows and of its final world."""
    work = prepare(scenario.world())
    found = [work(Trial(name, scenario.text, 7, 1)) for name in ("first", "again")]
    return [(each.digest, each.final_world) for each in found]


@pytest.mark.parametrize(
    "name",
    [each if each == "aave_borrower" else pytest.param(each, marks=pytest.mark.slow(10)) for each in registry.names()],
)
def test_every_scenario_of_the_library_runs_alike_twice(name: str) -> None:
    first, again = outcomes(load_scenario(name, chain=WORLD))
    assert first == again


def test_debt_without_collateral_is_bad_debt_and_a_deficit() -> None:
    scenario = load_scenario("depeg_cascade", chain=WORLD, steps=6, overrides=[CRASH, "agents.borrowers.count=30"])
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
    scenario = load_scenario("depeg_cascade", chain=WORLD, steps=8, overrides=overrides)
    built = build(scenario.config, scenario.world().open(), 7)
    rows = [row for _ in range(built.steps) for row in built.scheduler.tick()[0]]
    assert sum(row.kind == "liquidate" and row.status == "success" for row in rows) > 5
    assert not [row.reason for row in rows if "Dust" in row.reason or "InvalidBurn" in row.reason]


def test_a_world_of_another_chain_is_refused() -> None:
    with pytest.raises(BadScenario, match="'steth_depeg' cannot be run on 'base@2025-12'"):
        load_scenario("steth_depeg", chain="base@2025-12")
    with pytest.raises(BadScenario, match=r"unknown chain 'ethereum@2025-11'") as caught:
        load_scenario("steth_depeg", chain="ethereum@2025-11")
    assert "ethereum@2025-12" in str(caught.value.hint)
