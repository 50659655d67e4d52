"""Compound V3 on the replicas: every market at its real address, with the table's parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi.errors import StateError, UnknownName
from mayavi.evm.address import to_address
from mayavi.evm.fork import Fork
from mayavi.worlds.deploy.compound import BORROWER, compound_labels, describe_compound, market_label, symbol_of
from mayavi.worlds.deploy.deployment import MARKET
from mayavi.worlds.description import describe
from mayavi.worlds.tables.chain import load_table
from mayavi.worlds.tables.compound import CometMarket, Compound, Curve
from tests.protocols.compound.worlds import mainnet_world, replica, replica_markets

ADDRESSES = {
    ("ethereum", "cUSDCv3"): "0xc3d688B66703497DAA19211EEdff47f25384cdc3",
    ("ethereum", "cWETHv3"): "0xA17581A9E3356d9A858b789D68B4d866e593aE94",
    ("arbitrum", "cUSDCv3"): "0x9c4ec768c28520B50860ea7a15bd7213a9fF58bf",
    ("arbitrum", "cUSDCev3"): "0xA5EDBDD9646f8dFF606d7448e414884C7d905dCA",
    ("polygon", "cUSDCv3"): "0xF25212E676D1F7F89Cd72fFEe66158f541246445",
    ("base", "cUSDCv3"): "0xb125E6687d4313864e53df431d5425969c15Eb2F",
    ("base", "cUSDbCv3"): "0x9c4ec768c28520B50860ea7a15bd7213a9fF58bf",
    ("base", "cWETHv3"): "0x46e6b214b524310239732D51387075E0e70970bf",
}
YEAR_SECONDS = 31_536_000
WAD = 10**18

_COMET = [
    *(f"{name}() view returns (string)" for name in ("name", "symbol")),
    *(
        f"{name}() view returns (address)"
        for name in ("governor", "pauseGuardian", "baseToken", "baseTokenPriceFeed", "extensionDelegate")
    ),
    *(
        f"{side}{name}() view returns (uint256)"
        for side in ("supply", "borrow")
        for name in (
            "Kink",
            "PerSecondInterestRateSlopeLow",
            "PerSecondInterestRateSlopeHigh",
            "PerSecondInterestRateBase",
        )
    ),
    *(
        f"{name}() view returns (uint256)"
        for name in (
            "storeFrontPriceFactor",
            "trackingIndexScale",
            "baseTrackingSupplySpeed",
            "baseTrackingBorrowSpeed",
            "baseMinForRewards",
            "baseBorrowMin",
            "targetReserves",
            "baseScale",
            "decimals",
            "numAssets",
            "getUtilization",
        )
    ),
    "getReserves() view returns (int256)",
    "getSupplyRate(uint256) view returns (uint256)",
    "getBorrowRate(uint256) view returns (uint256)",
    "getAssetInfo(uint8) view returns ((uint8 offset, address asset, address priceFeed, uint64 scale,"
    " uint64 borrowCollateralFactor, uint64 liquidateCollateralFactor, uint64 liquidationFactor, uint128 supplyCap) i)",
    "balanceOf(address) view returns (uint256)",
    "borrowBalanceOf(address) view returns (uint256)",
]


@pytest.fixture(params=replica_markets(), ids="-".join)
def place(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Chain and market."""
    found: tuple[str, str] = request.param
    return found


def compound_of(chain: str) -> Compound:
    compound = load_table(chain).compound
    assert compound
    return compound


def assert_parameters(fork: Fork, market: CometMarket, governor: str) -> None:
    comet = fork.contract(market_label(market), _COMET)
    assert (comet["name"](), comet.symbol()) == (market.name, market.symbol)
    assert comet.governor() == to_address(governor)
    assert comet.pauseGuardian() == to_address(market.pause_guardian)
    assert comet.extensionDelegate() == to_address(market.extension)
    assert comet.baseToken() == to_address(market.base_token)
    assert comet.baseTokenPriceFeed() == to_address(market.base_price_feed)
    assert (comet.baseScale(), comet.decimals()) == (10**market.base_decimals, market.base_decimals)
    for side, curve in (("supply", market.supply_curve), ("borrow", market.borrow_curve)):
        assert comet[f"{side}Kink"]() == curve.kink_wad
        assert comet[f"{side}PerSecondInterestRateSlopeLow"]() == curve.slope_low_wad // YEAR_SECONDS
        assert comet[f"{side}PerSecondInterestRateSlopeHigh"]() == curve.slope_high_wad // YEAR_SECONDS
        assert comet[f"{side}PerSecondInterestRateBase"]() == curve.base_wad // YEAR_SECONDS
    assert comet.storeFrontPriceFactor() == market.store_front_price_factor_wad
    assert comet.trackingIndexScale() == market.tracking_index_scale
    assert comet.baseTrackingSupplySpeed() == market.tracking_supply_speed
    assert comet.baseTrackingBorrowSpeed() == market.tracking_borrow_speed
    assert comet.baseMinForRewards() == market.minimum_for_rewards
    assert comet.baseBorrowMin() == market.minimum_borrow
    assert comet.targetReserves() == market.target_reserves
    assert comet.numAssets() == len(market.assets)
    for number, asset in enumerate(market.assets):
        info = comet.getAssetInfo(number)
        assert (info.offset, info.asset, info.priceFeed) == (
            number,
            to_address(asset.token),
            to_address(asset.price_feed),
        )
        assert info.scale == 10**asset.decimals
        assert info.borrowCollateralFactor == asset.borrow_factor_wad
        assert info.liquidateCollateralFactor == asset.liquidate_factor_wad
        assert info.liquidationFactor == asset.liquidation_factor_wad
        assert info.supplyCap == asset.supply_cap * 10**asset.decimals


def test_the_markets_are_those_of_the_four_chains() -> None:
    assert set(replica_markets()) == set(ADDRESSES)


def test_a_market_stands_at_its_real_address(place: tuple[str, str]) -> None:
    chain, key = place
    fork = replica(chain)
    assert fork.labels[f"CompoundV3.{key}"] == ADDRESSES[place] == compound_of(chain).market(key).address
    assert fork.code(ADDRESSES[place])


def test_a_market_reads_back_as_the_table_has_it(place: tuple[str, str]) -> None:
    chain, key = place
    compound = compound_of(chain)
    assert_parameters(replica(chain), compound.market(key), compound.governor)


def test_the_table_has_the_parameters_that_mainnets_bytecode_has(cases: Path) -> None:
    compound = compound_of("ethereum")
    assert_parameters(mainnet_world(cases), compound.market("cUSDCv3"), compound.governor)


def test_tokens_and_feeds_are_in_the_table(place: tuple[str, str]) -> None:
    chain, key = place
    table, market = load_table(chain), compound_of(chain).market(key)
    feeds = {to_address(feed.address): feed for feed in table.feeds.values()}
    for token, decimals, feed in [
        (market.base_token, market.base_decimals, market.base_price_feed),
        *((asset.token, asset.decimals, asset.price_feed) for asset in market.assets),
    ]:
        assert table.tokens[symbol_of(table.tokens, token)].decimals == decimals
        assert feeds[to_address(feed)].decimals == 8
        contract = replica(chain).contract(feed, ["latestAnswer() view returns (int256)"])
        assert contract.latestAnswer() > 0


def test_the_rest_of_the_market_holds_what_the_table_says(place: tuple[str, str]) -> None:
    chain, key = place
    market, unit = compound_of(chain).market(key), 10 ** compound_of(chain).market(key).base_decimals
    comet = replica(chain).contract(market_label(market), _COMET)
    assert comet.balanceOf(MARKET) == market.lent * unit
    assert comet.borrowBalanceOf(BORROWER) == market.borrowed * unit
    assert comet.getReserves() == market.reserves * unit > 0
    assert comet.getUtilization() == market.borrowed * WAD // market.lent
    assert 0 < market.borrowed < market.lent
    assert market.reserves * unit < market.target_reserves  # so that absorbed collateral is for sale


@pytest.mark.parametrize("percent", [0, 30, 79, 80, 81, 90, 95, 100, 120])
def test_rates_have_a_kink_where_the_table_puts_it(place: tuple[str, str], percent: int) -> None:
    chain, key = place
    market, utilisation = compound_of(chain).market(key), percent * WAD // 100
    comet = replica(chain).contract(market_label(market), _COMET)

    def rate(curve: Curve) -> int:
        below, above = min(utilisation, curve.kink_wad), max(utilisation - curve.kink_wad, 0)
        rising = (curve.slope_low_wad // YEAR_SECONDS) * below // WAD
        return curve.base_wad // YEAR_SECONDS + rising + (curve.slope_high_wad // YEAR_SECONDS) * above // WAD

    assert comet.getSupplyRate(utilisation) == rate(market.supply_curve)
    assert comet.getBorrowRate(utilisation) == rate(market.borrow_curve)


def test_a_world_says_what_of_compound_it_has() -> None:
    compound = compound_of("ethereum")
    assert describe_compound(compound) == "Compound V3: cUSDCv3 with 5 collaterals, cWETHv3 with 3 collaterals"
    world = describe("ethereum")
    assert describe_compound(compound) in world.contents
    assert {"Compound parameters", "Compound code", "Compound positions"} <= {
        difference.subject for difference in world.differences
    }
    code = next(each for each in world.differences if each.subject == "Compound code")
    assert "gas is not" in code.text
    assert not any("Compound" in line for line in describe("optimism").contents)
    assert compound_labels(compound)["CompoundV3.cWETHv3.Extension"] == "0xe2C1F54aFF6b38fD9DF7a69F22cB5fd3ba09F030"


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(UnknownName, match="unknown Compound market 'cUSDTv3'"):
        compound_of("ethereum").market("cUSDTv3")
    with pytest.raises(StateError, match="no token at 0x"):
        symbol_of(load_table("ethereum").tokens, "0x00000000000000000000000000000000000000aa")
