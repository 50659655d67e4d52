"""Borrowers with several collaterals and debts, or an efficiency mode, in scenarios."""

from __future__ import annotations

import pytest

from mayavi.errors import BadScenario
from mayavi.evm.units import WAD
from mayavi.protocols import AaveV3
from mayavi.scenarios.loading import load_text
from tests.scenarios.play import play

SCENARIO = """\
name: mine
chain: ethereum
steps: 4
step_time: 5 minutes
prices: {WETH: {process: step, at: 1, size: -30%}}
agents:
  crowd: {kind: borrower, count: 6, collateral: {WETH: 60%, WBTC: 40%}, debt: {USDC: 70%, DAI: 30%}, health_factor: 1.1}
  bot: {kind: liquidator, capital: {USDC: 5_000_000, DAI: 5_000_000}}
"""


def test_liquidators_take_every_pair_of_the_accounts_and_figures_have_every_asset() -> None:
    played = play("", text=SCENARIO)
    taken = played.details("liquidate")
    assert played.kpis["liquidated_accounts"] == 6
    assert {each["collateral"] for each in taken} <= {"WETH", "WBTC"}
    assert {each["debt"] for each in taken} <= {"USDC", "DAI"}
    subjects = {row.subject for row in played.snapshots if row.metric == "utilisation"}
    assert subjects == {"AaveV3.WETH", "AaveV3.WBTC", "AaveV3.USDC", "AaveV3.DAI"}
    assert {"oracle_change.WETH", "oracle_change.WBTC"} <= set(played.kpis)
    assert played.kpis["accounts_at_limit.crowd"] == 0
    first = {row.subject: row.number for row in played.snapshots if row.step == -1 and row.metric == "health_factor"}
    assert all(factor == pytest.approx(1.1, abs=1e-6) for factor in first.values())


def test_the_order_of_assets_has_no_effect() -> None:
    turned = SCENARIO.replace("WETH: 60%, WBTC: 40%", "WBTC: 40%, WETH: 60%").replace(
        "USDC: 70%, DAI: 30%", "DAI: 30%, USDC: 70%"
    )
    first, second = play("", text=SCENARIO, steps=2), play("", text=turned, steps=2)
    assert (first.actions, first.snapshots) == (second.actions, second.snapshots)


def test_amounts_and_a_mode() -> None:
    overrides = [
        "agents.crowd={kind: borrower, collateral: {WETH: 2, USDC: 1_000}, debt: {DAI: 1_500, USDT: 500}}",
        "agents.looper={kind: borrower, count: 2, collateral: 50 wstETH, debt: 45 WETH, emode: eth Correlated}",
        "agents.bot={kind: liquidator, frictionless: true}",
    ]
    played = play("", text=SCENARIO, steps=2, overrides=overrides)
    world = played.built.world
    market = AaveV3(world.fork)
    fixed, looper = market.account(world.address("crowd-0")), market.account(world.address("looper-1"))
    assert fixed.supplied("WETH") == pytest.approx(2 * WAD, rel=1e-6)
    assert fixed.supplied("USDC") == pytest.approx(10**9, rel=1e-6)
    assert fixed.debt("USDT") == pytest.approx(5 * 10**8, rel=1e-5)
    assert looper.emode == 1
    assert looper.debt("WETH") == pytest.approx(45 * WAD, rel=1e-5)


def test_a_health_factor_in_a_mode_is_reached_with_its_threshold() -> None:
    loop = "{kind: borrower, count: 2, collateral: wstETH, debt: WETH, health_factor: 1.05, emode: 1}"
    played = play("", text=SCENARIO, steps=2, overrides=[f"agents.crowd={loop}", "agents.bot.capital={WETH: 100}"])
    factors = [row.number for row in played.snapshots if row.step == -1 and row.metric == "health_factor"]
    assert factors == [pytest.approx(1.05, abs=1e-6)] * 2


def test_comet_takes_several_collaterals() -> None:
    mix = "collateral: {WETH: 50%, WBTC: 50%}, debt: USDC, health_factor: 1.2"
    crowd = f"{{kind: borrower, count: 3, protocol: compound_v3, {mix}}}"
    bot = "{kind: liquidator, protocol: compound_v3, capital: {USDC: 5_000_000}}"
    played = play("", text=SCENARIO, overrides=[f"agents.crowd={crowd}", f"agents.bot={bot}"])
    first = [row.number for row in played.snapshots if row.step == -1 and row.metric == "health_factor"]
    assert first == [pytest.approx(1.2, abs=1e-5)] * 3


@pytest.mark.parametrize(
    ("crowd", "message"),
    [
        ("{kind: borrower, collateral: {WETH: 60%, WBTC: 50%}, debt: USDC, health_factor: 2}", "add up to 110%"),
        ("{kind: borrower, collateral: WETH, debt: {USDC: 70%, DAI: 30%}}", "borrows shares of a debt"),
        ("{kind: borrower, collateral: {WETH: 1}, debt: {USDC: 7}, health_factor: 2}", "both an amount of debt and"),
        ("{kind: borrower, collateral: {WETH: 100%}, debt: {USDC: 7}}", "an amount of debt and none of collateral"),
        (
            "{kind: borrower, protocol: compound_v3, collateral: 1 WETH, debt: 5 USDC, emode: 1}",
            "is in an eMode, and Compound V3 has none",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(crowd: str, message: str) -> None:
    with pytest.raises(BadScenario, match=message):
        load_text(SCENARIO, overrides=[f"agents.crowd={crowd}"])


@pytest.mark.parametrize(
    ("crowd", "message"),
    [
        ("{kind: borrower, collateral: {WETH: 1, XYZ: 2}, debt: {USDC: 7}}", "crowd: unknown asset of Aave V3 'XYZ'"),
        ("{kind: borrower, collateral: 1 WETH, debt: 5 USDC, emode: 9}", "agents.crowd: unknown eMode '9'"),
    ],
)  # fmt: skip
def test_what_the_market_does_not_have_names_the_agent(crowd: str, message: str) -> None:
    with pytest.raises(BadScenario, match=message):
        play("", text=SCENARIO, overrides=[f"agents.crowd={crowd}"])
