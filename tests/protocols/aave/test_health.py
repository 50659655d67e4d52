"""Health factors, liquidation prices and positions, on every chain's replica."""

from __future__ import annotations

from decimal import Decimal

from mayavi.protocols import AaveAccount, AaveV3
from tests.protocols.aave.reference import (
    ALICE,
    NO_DEBT,
    WAD,
    YEAR,
    data_provider,
    give_and_supply,
    health_factor_wad,
    later,
    move_price,
)


def test_the_health_factor_is_that_of_an_independent_computation(market: AaveV3, alice: AaveAccount) -> None:
    assert alice.health_factor == Decimal("Infinity")
    assert alice.data().health_factor_wad == health_factor_wad(alice) == NO_DEBT
    market.fork.mine(1, 12_345)
    give_and_supply(alice, "WETH", 3 * WAD + 7)
    give_and_supply(alice, "USDC", 2_000 * 10**6 + 1)
    alice.borrow("USDC", 1_234_567_891)
    alice.borrow("WETH", WAD // 3)
    price = market.price_usd_e8("WETH")
    for seconds, percent in ((1, 100), (86_400, 83), (YEAR, 71), (3_600, 37)):
        market.fork.mine(1, seconds)
        move_price(market, "WETH", price * percent // 100)
        assert alice.data().health_factor_wad == health_factor_wad(alice)
        assert alice.health_factor == Decimal(alice.data().health_factor_wad).scaleb(-18)
    alice.set_collateral("USDC", False)
    assert alice.data().health_factor_wad == health_factor_wad(alice)


def test_at_the_liquidation_price_health_is_below_one_and_above_it_not(borrower: AaveAccount) -> None:
    market = borrower.market
    give_and_supply(borrower, "USDC", 100 * 10**6)
    price = borrower.liquidation_price_usd_e8("WETH")
    assert price is not None
    for above, healthy in ((1, True), (0, False), (-price // 100, False), (price // 100, True)):
        move_price(market, "WETH", price + above)
        assert (borrower.health_factor >= 1) is healthy
        assert borrower.liquidation_price_usd_e8("WETH") == price


def test_where_no_price_matters_there_is_no_liquidation_price(market: AaveV3, alice: AaveAccount) -> None:
    assert alice.liquidation_price_usd_e8("WETH") is None
    give_and_supply(alice, "WETH", WAD)
    assert alice.liquidation_price_usd_e8("WETH") is None
    give_and_supply(alice, "USDC", 3_000 * 10**6)
    alice.borrow("USDC", 100 * 10**6)
    assert alice.liquidation_price_usd_e8("WETH") is None  # the dollars alone are enough
    alice.set_collateral("USDC", False)
    assert alice.liquidation_price_usd_e8("USDC") is None
    assert alice.liquidation_price_usd_e8("WETH") is not None


def test_a_position_lists_every_reserve_with_its_values(borrower: AaveAccount) -> None:
    market = borrower.market
    give_and_supply(borrower, "USDC", 50 * 10**6)
    borrower.set_collateral("USDC", False)
    position = borrower.position()
    assert position.totals == borrower.data()
    assert position.emode == 0
    assert {line.symbol for line in position.assets} == {"WETH", "USDC"}
    provider = data_provider(market)
    for line in position.assets:
        user = provider.getUserReserveData(market.address_of(line.symbol), ALICE)
        assert (line.supplied, line.debt, line.used_as_collateral) == (
            user.supplied,
            user.stableDebt + user.variableDebt,
            user.collateral,
        )
        reserve = market.reserve(line.symbol)
        assert (line.decimals, line.price_usd_e8) == (reserve.decimals, reserve.price_usd_e8)
        assert line.liquidation_threshold_bps == reserve.configuration.liquidation_threshold_bps
        assert line.supplied_usd_e8 == line.supplied * line.price_usd_e8 // 10**line.decimals
        value = line.debt * line.price_usd_e8
        assert line.debt_usd_e8 == (-(-value // 10**line.decimals) if later(market) else value // 10**line.decimals)
        assert line.liquidation_price_usd_e8 == borrower.liquidation_price_usd_e8(line.symbol)
    weth, usdc = sorted(position.assets, key=lambda line: line.symbol, reverse=True)
    assert weth.supplied_usd_e8 == position.totals.collateral_usd_e8
    assert usdc.debt_usd_e8 == position.totals.debt_usd_e8
