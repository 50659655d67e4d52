"""The Aave V3 adapter on the Ethereum replica."""

from __future__ import annotations

import pytest

from mayavi import Fork, ether, to_units
from mayavi.errors import CallReverted, UnknownName
from mayavi.protocols.aave_v3 import AaveV3
from mayavi.protocols.price_feed import PriceFeed

ALICE = bytes.fromhex("a11ce00000000000000000000000000000000001")
NO_DEBT = 2**256 - 1


@pytest.fixture
def market() -> AaveV3:
    return AaveV3(Fork.replica("ethereum"))


@pytest.fixture
def supplied(market: AaveV3) -> AaveV3:
    """Alice has supplied 1 WETH."""
    market.fork.deal("WETH", ALICE, ether(1))
    market.supply("WETH", ether(1), ALICE)
    return market


def test_a_supply_becomes_collateral_at_the_oracle_price(supplied: AaveV3) -> None:
    position = supplied.position(ALICE)
    assert position.collateral_usd_e8 == pytest.approx(supplied.price_usd_e8("WETH"), abs=1)
    assert (position.debt_usd_e8, position.health_factor_wad) == (0, NO_DEBT)


def test_a_borrow_becomes_debt_that_grows_with_time(supplied: AaveV3) -> None:
    supplied.borrow("USDC", to_units(1_700, 6), ALICE)
    assert supplied.debt("USDC", ALICE) == to_units(1_700, 6)
    supplied.fork.mine(7_200)
    assert supplied.debt("USDC", ALICE) > to_units(1_700, 6)


def test_borrowing_raises_both_rates(supplied: AaveV3) -> None:
    before = supplied.rates("USDC")
    supplied.borrow("USDC", to_units(1_700, 6), ALICE)
    after = supplied.rates("USDC")
    assert after.borrow_ray > before.borrow_ray
    assert after.supply_ray > before.supply_ray
    assert after.supply_ray < after.borrow_ray


def test_the_health_factor_is_threshold_times_collateral_over_debt(supplied: AaveV3) -> None:
    supplied.borrow("USDC", to_units(1_700, 6), ALICE)
    feed = PriceFeed(supplied.fork, "Chainlink.ETH/USD")
    for percent in (100, 80, 60):
        with supplied.fork.snapshot():
            feed.move(feed.answer * percent // 100)
            assert supplied.price_usd_e8("WETH") == feed.answer
            seen = supplied.position(ALICE)
            expected = seen.collateral_usd_e8 * seen.liquidation_threshold_bps / 10_000 / seen.debt_usd_e8
            assert seen.health_factor_wad / 10**18 == pytest.approx(expected)


def test_borrowing_more_than_the_collateral_allows_reverts_with_the_reason(supplied: AaveV3) -> None:
    with pytest.raises(CallReverted, match="COLLATERAL_CANNOT_COVER_NEW_BORROW"):
        supplied.borrow("USDC", to_units(10_000, 6), ALICE)


def test_an_unknown_asset_is_named_with_the_nearest(market: AaveV3) -> None:
    with pytest.raises(UnknownName, match="unknown address or contract 'WETHH'"):
        market.price_usd_e8("WETHH")
