"""A replica's Comet takes a new configuration as an upgrade: other code, the same storage."""

from __future__ import annotations

import pytest

from mayavi import Fork
from mayavi.errors import BadArgument, CallReverted, UnknownName, UsageError
from mayavi.protocols import CometConfigurator, CompoundV3
from tests.protocols.compound.worlds import replica, replica_markets

IMPLEMENTATION_SLOT = 0x360894A13BA1A3210667C828492DB98DCA3E2076CC3735A920A3CA505D382BBC
WAD = 10**18


def state(market: CompoundV3) -> tuple[object, ...]:
    """Everything that storage and the rest of the configuration decide."""
    views = ["supplyKink", "borrowKink", "trackingIndexScale", "baseTrackingBorrowSpeed", "baseMinForRewards"]
    views += ["borrowPerSecondInterestRateBase", "borrowPerSecondInterestRateSlopeHigh", "governor", "pauseGuardian"]
    kinds = {"governor": "address", "pauseGuardian": "address"}
    own = market.fork.contract(
        market.address, [f"{each}() view returns ({kinds.get(each, 'uint256')})" for each in views]
    )
    configuration = tuple(own[each]() for each in views)
    return (market.totals(), market.reserves, market.rates(), market.symbol, market.base.symbol, configuration)


@pytest.mark.parametrize(("chain", "key"), replica_markets())
def test_one_factor_of_one_asset_changes_and_nothing_else(chain: str, key: str) -> None:
    market = CompoundV3(replica(chain).copy(), key)
    assets, before = market.assets, state(market)
    first = assets[0]
    wanted = first.borrow_collateral_factor_wad + 1
    CometConfigurator(market).set_asset(first.symbol, {"liquidate_collateral_factor_wad": wanted})
    assert state(market) == before
    assert market.assets == [first._replace(liquidate_collateral_factor_wad=wanted), *assets[1:]]


def test_accounts_keep_their_positions_and_are_judged_by_the_new_factors() -> None:
    fork = replica("ethereum").copy()
    market = CompoundV3(fork)
    alice = market.account("0x00000000000000000000000000000000000a11ce")
    fork.deal("WETH", alice.address, 10 * WAD)
    alice.supply("WETH", 10 * WAD)
    alice.borrow(20_000 * 10**6)
    debt = alice.debt
    configurator = CometConfigurator(market)
    assert not alice.liquidatable
    lower = {"borrow_collateral_factor_wad": 5 * WAD // 10, "liquidate_collateral_factor_wad": 6 * WAD // 10}
    configurator.set_asset("WETH", lower)
    assert (alice.debt, alice.collateral("WETH")) == (debt, 10 * WAD)
    assert alice.liquidatable
    market.absorb(alice, sender=b"\x0b" * 20)
    assert alice.debt == 0


def test_the_whole_market_has_parameters_too() -> None:
    market = CompoundV3(replica("ethereum").copy())
    configurator = CometConfigurator(market)
    values = {"store_front_price_factor_wad": 3 * WAD // 10, "minimum_borrow": 7 * 10**6, "target_reserves": 11 * 10**6}
    configurator.set_market(values)
    assert configurator.market_values() == values
    assert (market.minimum_borrow, market.target_reserves) == (7 * 10**6, 11 * 10**6)


def test_what_comets_constructor_refuses_changes_nothing() -> None:
    fork = replica("ethereum").copy()
    configurator, before = CometConfigurator(CompoundV3(fork)), fork.digest()
    with pytest.raises(CallReverted, match="BorrowCFTooLarge"):
        configurator.set_asset("WETH", {"liquidate_collateral_factor_wad": WAD // 10})
    with pytest.raises(CallReverted, match="BadDiscount"):
        configurator.set_market({"store_front_price_factor_wad": 2 * WAD})
    with pytest.raises(BadArgument, match="'ltv' is not a parameter"):
        configurator.set_asset("WETH", {"ltv": 1})
    with pytest.raises(UnknownName, match="unknown collateral asset 'WETHH'"):
        configurator.set_asset("WETHH", {"supply_cap": 1})
    assert fork.digest() == before


def test_a_proxy_of_the_real_chain_is_left_alone() -> None:
    fork: Fork = replica("ethereum").copy()
    market = CompoundV3(fork)
    fork.set_storage(market.address, IMPLEMENTATION_SLOT, 1)
    with pytest.raises(UsageError, match="is a proxy of the real chain") as caught:
        CometConfigurator(market)
    assert caught.value.hint == "use a replica of the chain"
