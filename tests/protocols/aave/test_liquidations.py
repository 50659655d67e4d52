"""Liquidations to the wei, on every chain's replica."""

from __future__ import annotations

import pytest

from mayavi.errors import (
    CallReverted,
    InsufficientBalance,
)
from mayavi.protocols import AaveAccount, Erc20
from tests.protocols.aave.reference import (
    ALICE,
    BOB,
    BPS,
    NO_DEBT,
    WAD,
    later,
    move_price,
    named,
    percent_mul,
    seizure,
)


@pytest.mark.parametrize("receive_a_token", [False, True], ids=["asset", "aToken"])
@pytest.mark.parametrize(("percent", "share_bps"), [(100, 5_000), (94, 10_000)], ids=["half", "all"])
def test_a_liquidation_takes_bonus_and_fee_to_the_wei(
    borrower: AaveAccount, bob: AaveAccount, percent: int, share_bps: int, receive_a_token: bool
) -> None:
    market, fork = borrower.market, borrower.market.fork
    price = borrower.liquidation_price_usd_e8("WETH")
    assert price is not None
    move_price(market, "WETH", price * percent // 100)
    assert (borrower.data().health_factor_wad > 95 * WAD // 100) is (share_bps == 5_000)

    fork.deal("USDC", BOB, 10_000 * 10**6)
    owed, supplied = borrower.debt("USDC"), borrower.supplied("WETH")
    expected = seizure(borrower, "WETH", "USDC", owed)
    a_weth, treasury = market.a_token("WETH"), fork.address_of("AaveV3.Treasury")
    before = a_weth.balance_of(treasury)
    done = bob.liquidate(borrower, "WETH", "USDC", receive_a_token=receive_a_token)
    assert (done.covered, done.seized, done.protocol_fee) == expected
    assert expected.covered == percent_mul(owed, BPS if later(market) else share_bps)  # V3.6 closes small debts at once
    assert expected.protocol_fee > 0
    assert bob.balance("USDC") == 10_000 * 10**6 - expected.covered
    if receive_a_token:
        assert abs(bob.supplied("WETH") - expected.seized) <= 1
    else:
        assert bob.balance("WETH") == expected.seized
    assert abs(a_weth.balance_of(treasury) - before - expected.protocol_fee) <= 1
    assert abs(borrower.supplied("WETH") - (supplied - expected.seized - expected.protocol_fee)) <= 2
    assert abs(borrower.debt("USDC") - (owed - expected.covered)) <= 1
    assert Erc20(fork, "USDC").allowance(BOB, market.pool.address) == 0


def test_a_liquidator_covers_what_it_says_or_can_pay(borrower: AaveAccount, bob: AaveAccount) -> None:
    market, fork = borrower.market, borrower.market.fork
    move_price(market, "WETH", borrower.liquidation_price_usd_e8("WETH") or 0)
    with fork.snapshot():
        fork.deal("USDC", BOB, 100 * 10**6)
        assert bob.liquidate(ALICE, "WETH", "USDC").covered == 100 * 10**6
    with fork.snapshot():
        fork.deal("USDC", BOB, 100 * 10**6)
        assert bob.liquidate(ALICE, "WETH", "USDC", 40 * 10**6).covered == 40 * 10**6
        assert bob.balance("USDC") == 60 * 10**6
    needed = "1,500" if later(market) else "750"  # V3.6 closes small debts at once
    with pytest.raises(InsufficientBalance, match=rf"has 0 USDC, but {needed}\.\d+ USDC are needed"):
        bob.liquidate(borrower, "WETH", "USDC")


def test_bad_debt_remains_when_collateral_does_not_reach(borrower: AaveAccount, bob: AaveAccount) -> None:
    market, fork = borrower.market, borrower.market.fork
    move_price(market, "WETH", market.price_usd_e8("WETH") // 4)
    fork.deal("USDC", BOB, 10_000 * 10**6)
    supplied, owed = borrower.supplied("WETH"), borrower.debt("USDC")
    expected = seizure(borrower, "WETH", "USDC", owed)
    done = bob.liquidate(borrower, "WETH", "USDC")
    assert (done.covered, done.seized, done.protocol_fee) == expected
    assert done.seized + done.protocol_fee == supplied
    if later(market):  # V3.6 burns what is left of the debt: the reserve has a deficit
        assert market.deficit("USDC") == owed - done.covered
        assert (borrower.debt("USDC"), borrower.data().health_factor_wad) == (0, NO_DEBT)
        return
    assert borrower.supplied("WETH") <= 1  # what rounding the two parts apart may leave; it is collateral no longer
    assert 0 < borrower.debt("USDC") < owed
    assert abs(borrower.debt("USDC") - (owed - done.covered)) <= 1
    assert borrower.data()[:2] == (0, borrower.data().debt_usd_e8)
    assert borrower.health_factor == 0
    assert borrower.liquidation_price_usd_e8("WETH") is None
    with pytest.raises(CallReverted, match=named("46 COLLATERAL_CANNOT_BE_LIQUIDATED")):
        bob.liquidate(borrower, "WETH", "USDC")


def test_who_is_healthy_is_not_liquidated(borrower: AaveAccount, bob: AaveAccount) -> None:
    borrower.market.fork.deal("USDC", BOB, 10**9)
    with pytest.raises(CallReverted, match=named("45 HEALTH_FACTOR_NOT_BELOW_THRESHOLD")) as caught:
        bob.liquidate(borrower, "WETH", "USDC")
    assert caught.value.hint == "its health factor has to fall below 1 first"
