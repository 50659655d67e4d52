"""The facts of a chain's Compound V3 markets, as its table holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from mayavi.errors import UnknownName


@dataclass(frozen=True, slots=True)
class Curve:
    """An interest rate a year over utilisation: two slopes that meet at the kink. All have 18 decimals."""

    kink_wad: int
    slope_low_wad: int
    slope_high_wad: int
    base_wad: int


@dataclass(frozen=True, slots=True)
class CometAsset:
    """A collateral asset of a market. `supply_cap` and `supplied`, what the rest of the market holds, count tokens."""

    token: str
    price_feed: str
    decimals: int
    borrow_factor_wad: int
    liquidate_factor_wad: int
    liquidation_factor_wad: int
    supply_cap: int
    supplied: int


@dataclass(frozen=True, slots=True)
class CometMarket:
    """A Compound V3 market. `key` is its name among the labels, mostly the symbol it gives itself.

    `lent`, `borrowed` and `reserves`, what the rest of the market holds, count whole base tokens; `target_reserves`,
    `minimum_borrow` and `minimum_for_rewards` its smallest unit.
    """

    key: str
    name: str
    symbol: str
    address: str
    extension: str
    pause_guardian: str
    base_token: str
    base_price_feed: str
    base_decimals: int
    supply_curve: Curve
    borrow_curve: Curve
    store_front_price_factor_wad: int
    tracking_index_scale: int
    tracking_supply_speed: int
    tracking_borrow_speed: int
    minimum_for_rewards: int
    minimum_borrow: int
    target_reserves: int
    assets: tuple[CometAsset, ...]
    lent: int
    borrowed: int
    reserves: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The market `data` describes."""
        rest = {key: value for key, value in data.items() if not key.endswith("_curve_wad")}
        return cls(
            **{
                **rest,
                "supply_curve": Curve(*data["supply_curve_wad"]),
                "borrow_curve": Curve(*data["borrow_curve_wad"]),
                "assets": tuple(CometAsset(**each) for each in data["assets"]),
            }
        )


@dataclass(frozen=True, slots=True)
class Compound:
    """The Compound V3 markets of a chain, all governed by one account."""

    governor: str
    markets: tuple[CometMarket, ...]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The section of the table."""
        return cls(data["governor"], tuple(map(CometMarket.from_json, data["markets"])))

    def market(self, key: str) -> CometMarket:
        """The market called `key`, or `UnknownName` with the nearest."""
        for market in self.markets:
            if market.key == key:
                return market
        raise UnknownName.of("Compound market", key, [market.key for market in self.markets])
