"""Liquidators of a scenario with several markets: each debt is paid in its own coin, and every sale is looked at."""

from __future__ import annotations

import pytest

from mayavi.errors import BadScenario
from mayavi.evm.units import WAD
from mayavi.scenarios.figures.notes import notes
from tests.scenarios.play import Played, play

TWO_DEBTS = """\
name: two_debts
chain: ethereum
steps: 4
step_time: 1h
prices:
  WETH: {process: step, at: 1, size: -30%}
agents:
  dollars: {kind: borrower, count: 4, collateral: WETH, debt: USDC, health_factor: 1.25}
  others: {kind: borrower, count: 4, collateral: WETH, debt: DAI, health_factor: 1.25}
  bot: {kind: liquidator, capital: {USDC: 5_000_000, DAI: 5_000_000}}
"""
DECIMALS = {"USDC": 6, "DAI": 18}


@pytest.mark.parametrize(
    "bot", ["{kind: liquidator, capital: {USDC: 5_000_000, DAI: 5_000_000}}", "{kind: liquidator, flash_loan: true}"]
)
def test_what_is_seized_is_sold_for_the_debt_it_backed(bot: str) -> None:
    played = play("", text=TWO_DEBTS, overrides=[f"agents.bot={bot}"])
    taken = played.details("liquidate")
    assert played.kpis["liquidated_accounts"] == 8
    assert {(each["borrower"].partition("-")[0], each["debt"]) for each in taken} == {
        ("dollars", "USDC"),
        ("others", "DAI"),
    }
    assert played.details("liquidate", "failed") == []
    for each in taken:  # sold at the pool's price of a WETH, which is between 1,000 and 3,000 of either coin
        price = int(each["received"]) * WAD // (int(each["seized"]) * 10 ** DECIMALS[each["debt"]])
        assert 1_000 < price < 3_000
        assert int(each["profit"]) == int(each["received"]) - int(each["paid"]) - premium(each, bot)


def premium(liquidation: dict[str, str], bot: str) -> int:
    """Aave's five hundredths of a percent of a flash loan, as Aave rounds it."""
    return (int(liquidation["paid"]) * 5 + 5_000) // 10_000 if "flash_loan" in bot else 0


def test_the_pools_they_sell_into_are_recorded_and_one_that_stays_behind_is_told_of() -> None:
    played = play("", text=TWO_DEBTS)
    pools = {row.subject for row in played.snapshots if row.subject.startswith("UniswapV3.")}
    assert pools == {"UniswapV3.WETH/USDC.500", "UniswapV3.DAI/USDC.100"}
    assert played.kpis["pool_gap.WETH/USDC.500"] > 0.3 * WAD  # nobody brought it to the oracle's price
    assert any(note.startswith("WETH/USDC.500 ends +") for note in notes(numbers(played)))


def test_what_no_pool_sells_is_told_in_words_of_a_scenario() -> None:
    text = TWO_DEBTS.replace("ethereum", "arbitrum").replace(
        "collateral: WETH, debt: DAI", "collateral: LINK, debt: USDC"
    )
    with pytest.raises(BadScenario, match=r"agents\.bot: no pool of arbitrum sells LINK for USDC") as caught:
        play("", text=text)
    assert "pools: {LINK/USDC.3000: {price: …, liquidity: …}}" in str(caught.value.hint)
    assert "frictionless: true" in str(caught.value.hint)
    own = text + "pools: {LINK/USDC.3000: {price: 11.1, liquidity: {LINK: 500_000, USDC: 5_550_000}}}\n"
    assert "LINK/USDC.3000" in " ".join(play("", text=own).kpis)
    play("", text=text, overrides=["agents.bot={kind: liquidator, frictionless: true}"])


def numbers(played: Played) -> dict[str, float]:
    return {row.name: row.number for row in played.built.kpis(played.built.world)}
