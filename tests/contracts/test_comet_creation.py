"""A Comet market is created with its configuration, and rejects impossible ones."""

from __future__ import annotations

from typing import Any

import pytest

from mayavi.errors import CallReverted
from mayavi.evm.hashing import keccak_text
from mayavi.validation.contracts.comet_markets import MARKET, Asset, Market, Parameters, calldata, our_market
from mayavi.validation.contracts.comet_pair import MAX
from mayavi.worlds.deploy.deployment import named_account

BOB = named_account("bob")
WAD = 10**18


def assets(count: int) -> tuple[Asset, ...]:
    return tuple(
        Asset(
            address=named_account(f"asset {i}"),
            feed=named_account(f"feed {i}"),
            decimals=8 + i % 11,
            borrow_factor=8 * WAD // 10,
            liquidate_factor=85 * WAD // 100,
            liquidation_factor=9 * WAD // 10,
            supply_cap=(i + 1) * 10**24,
        )
        for i in range(count)
    )


PARAMETERS = Parameters(
    governor=named_account("governor"),
    pause_guardian=named_account("guardian"),
    base_token=named_account("base"),
    base_feed=named_account("base feed"),
    extension=bytes(20),
    supply_kink=8 * WAD // 10,
    supply_slope_low=3 * WAD // 100,
    supply_slope_high=4 * WAD // 10,
    supply_base=0,
    borrow_kink=8 * WAD // 10,
    borrow_slope_low=35 * WAD // 1000,
    borrow_slope_high=WAD // 4,
    borrow_base=15 * WAD // 1000,
    store_front_price_factor=WAD // 2,
    tracking_index_scale=10**15,
    tracking_supply_speed=10**11,
    tracking_borrow_speed=10**11,
    min_for_rewards=10**21,
    borrow_min=10**17,
    target_reserves=5_000 * WAD,
    assets=assets(15),
)


def create(parameters: Parameters, **options: Any) -> Market:
    prices = [10**8] * (1 + len(parameters.assets))
    return our_market(parameters, prices, **{"base_decimals": 18, "names": ("Compound WETH", "cWETHv3")} | options)


def test_a_market_says_what_it_was_created_with() -> None:
    market = create(PARAMETERS)
    assert market.view("name()(string)") == "Compound WETH"
    assert market.view("symbol()(string)") == "cWETHv3"
    assert (market.view("decimals()(uint8)"), market.view("baseScale()(uint256)")) == (18, WAD)
    assert market.view("borrowPerSecondInterestRateBase()(uint256)") == 15 * WAD // 1000 // 31_536_000
    assert market.view("numAssets()(uint8)") == market.view("maxAssets()(uint8)") == 15


def test_all_fifteen_assets_are_collateral() -> None:
    market = create(PARAMETERS)
    send(market, "mint(address,uint256)", BOB, 10**24, to=PARAMETERS.base_token, sender=named_account("deployer"))
    send(market, "transfer(address,uint256)", MARKET, 10**24, to=PARAMETERS.base_token)
    for asset in PARAMETERS.assets:
        send(
            market, "mint(address,uint256)", BOB, 10**asset.decimals, to=asset.address, sender=named_account("deployer")
        )
        send(market, "approve(address,uint256)", MARKET, MAX, to=asset.address)
        send(market, "supply(address,uint256)", asset.address, 10**asset.decimals)
    assert market.view("userBasic(address)(int104,uint64,uint64,uint16,uint8)", BOB)[3] == 2**15 - 1
    # Fifteen assets worth one each, at a factor of 0.8.
    with pytest.raises(CallReverted) as refusal:
        send(market, "withdraw(address,uint256)", PARAMETERS.base_token, 12 * WAD + 10**11)
    assert refusal.value.output == keccak_text("NotCollateralized()")[:4]
    send(market, "withdraw(address,uint256)", PARAMETERS.base_token, 12 * WAD)
    assert market.view("borrowBalanceOf(address)(uint256)", BOB) == 12 * WAD


REFUSED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "a discount above the penalty": ("BadDiscount()", {"store_front_price_factor": WAD + 1}, {}),
    "rewards from nothing on": ("BadMinimum()", {"min_for_rewards": 0}, {}),
    "a base of too many decimals": ("BadDecimals()", {}, {"base_decimals": 19}),
    "an asset of other decimals than it has": (
        "BadDecimals()",
        {"assets": assets(1)},
        {"decimals": lambda asset: asset.decimals + 1},
    ),
    "a borrow factor as high as the liquidation's": (
        "BorrowCFTooLarge()",
        {"assets": (assets(1)[0]._replace(borrow_factor=85 * WAD // 100),)},
        {},
    ),
    "a liquidation factor above one": (
        "LiquidateCFTooLarge()",
        {"assets": (assets(1)[0]._replace(liquidate_factor=WAD + 1),)},
        {},
    ),
}


@pytest.mark.parametrize(("error", "changes", "options"), REFUSED.values(), ids=REFUSED.keys())
def test_a_market_that_cannot_work_is_refused(error: str, changes: dict[str, Any], options: dict[str, Any]) -> None:
    with pytest.raises(CallReverted) as refusal:
        create(PARAMETERS.but(**changes), **options)
    assert refusal.value.output == keccak_text(error)[:4]


def send(market: Market, text: str, *arguments: Any, to: bytes = MARKET, sender: bytes = BOB) -> None:
    market.fork.send(to, calldata(text, *arguments), sender)
