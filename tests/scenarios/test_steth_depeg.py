"""`steth_depeg`: wstETH loses its peg to ETH, on the eMode rules of Aave's own code."""

from __future__ import annotations

import json

import pytest

from mayavi.protocols.aave.market import AaveV3
from tests.scenarios.play import Played, play

SMALL = ["agents.stakers.count=16", "agents.others.count=8", "agents.stakers.behaviour=hold"]
EMODE, LTV, THRESHOLD, BONUS = 1, 9_000, 9_300, 10_100
PLAIN_LTV, PLAIN_THRESHOLD, PLAIN_BONUS = 7_850, 8_100, 10_600


@pytest.fixture(scope="module")
def played() -> Played:
    return play("steth_depeg", overrides=SMALL)


def accounts(played: Played, group: str) -> dict[str, bytes]:
    world = played.built.world
    return {row.account: world.address(row.account) for row in played.built.accounts.rows if row.agent == group}


def test_stakers_are_in_emode_by_the_contracts_own_word(played: Played) -> None:
    market = AaveV3(played.built.world.fork)
    for address in accounts(played, "stakers").values():
        data = market.account(address).data()
        assert market.pool.getUserEMode(address) == EMODE
        assert (data.ltv_bps, data.liquidation_threshold_bps) == (LTV, THRESHOLD)
    for address in accounts(played, "others").values():
        data = market.account(address).data()
        assert market.pool.getUserEMode(address) == 0
        assert (data.ltv_bps, data.liquidation_threshold_bps) == (PLAIN_LTV, PLAIN_THRESHOLD)
    mode = market.emode(EMODE)
    assert (mode.ltv_bps, mode.liquidation_threshold_bps, mode.liquidation_bonus_bps) == (LTV, THRESHOLD, BONUS)


def test_the_peg_is_lost_and_ether_stays(played: Played) -> None:
    def path(symbol: str) -> list[float]:
        return [row.number for row in played.snapshots if (row.subject, row.metric) == (f"AaveV3.{symbol}", "price")]

    staked, ether = path("wstETH"), path("WETH")
    assert staked[15] / staked[0] == pytest.approx(1 - 0.065, abs=1e-4)
    assert set(ether) == {ether[0]}


def test_who_borrowed_too_much_is_liquidated_in_and_outside_emode(played: Played) -> None:
    """An account can be liquidated once the price has fallen by more than 1 − 1 / its first health factor."""
    first = {row.subject: row.number for row in played.snapshots if row.step == -1 and row.metric == "health_factor"}
    prices = [row.number for row in played.snapshots if (row.subject, row.metric) == ("AaveV3.wstETH", "price")]
    lowest = min(prices) / prices[0]
    hit = {row.account for row in played.built.accounts.rows if row.liquidations}
    sure = {name for name, factor in first.items() if factor * lowest < 0.999}
    assert {name.partition("-")[0] for name in hit} == {"stakers", "others"}
    assert sure <= hit <= {name for name, factor in first.items() if factor * lowest < 1}


def test_the_bonus_is_that_of_the_mode(played: Played) -> None:
    """The liquidator gets the bonus less the protocol's share of it, a tenth for wstETH."""
    market = AaveV3(played.built.world.fork)
    share = market.reserve("wstETH").configuration.liquidation_protocol_fee_bps / 10_000
    price = {
        row.step: row.number for row in played.snapshots if (row.subject, row.metric) == ("AaveV3.wstETH", "price")
    }
    ether = market.price_usd_e8("WETH") / 10**8
    seen = set()
    for row in played.actions:
        if row.kind != "liquidate" or row.status != "success":
            continue
        done = json.loads(row.details)
        group = done["borrower"].partition("-")[0]
        bonus = (BONUS if group == "stakers" else PLAIN_BONUS) / 10_000
        received = int(done["seized"]) * price[row.step] / (int(done["covered"]) * ether)
        assert received == pytest.approx(bonus - (bonus - 1) * share, rel=1e-4), done["borrower"]
        seen.add(group)
    assert seen == {"stakers", "others"}


@pytest.mark.slow(1)
def test_half_the_step_gives_the_same_liquidations(played: Played) -> None:
    finer = play(
        "steth_depeg",
        steps=48,
        overrides=[*SMALL, "step_time=30m", "prices.wstETH.at=4", "prices.wstETH.steps=24", "prices.wstETH.then=null"],
    )
    coarse = play("steth_depeg", overrides=[*SMALL, "prices.wstETH.then=null"])
    assert finer.kpis["liquidated_accounts"] == coarse.kpis["liquidated_accounts"] > 0
    assert finer.kpis["liquidated"] == pytest.approx(coarse.kpis["liquidated"], rel=1e-3)
    assert finer.kpis["bad_debt"] == coarse.kpis["bad_debt"] == 0


@pytest.mark.slow(0.3)
def test_without_emode_the_same_debts_could_not_have_been_opened() -> None:
    """At a health factor of 1.035 the contracts lend 89.9 % in eMode and 78.3 % outside it."""
    opened = play("steth_depeg", steps=15, overrides=[*SMALL, "agents.stakers.health_factor=1.035"])
    first = {(row.subject, row.metric): row.number for row in opened.snapshots if row.step == -1}
    leverage = [first["stakers", "debt"] / first["stakers", "collateral"], first["stakers-0", "health_factor"]]
    assert leverage == pytest.approx([0.93 / 1.035, 1.035], rel=1e-3)
