"""Types of the Compound V3 markets in a chain table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from mayavi.errors import UnknownName


@dataclass(frozen=True, slots=True)
class Curve:
    """Yearly interest rate over utilisation: two slopes that meet at the kink. All with 18 decimals."""

    kink_wad: int
    slope_low_wad: int
    slope_high_wad: int
    base_wad: int


@dataclass(frozen=True, slots=True)
class CometAsset:
    """Collateral asset of a market. `supply_cap` and the background `supplied` are in whole tokens."""

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
    """Compound V3 market. `key` is its name among the labels, usually its own symbol.

    The background `lent`, `borrowed` and `reserves` are in whole base tokens; `target_reserves`, `minimum_borrow` and
    `minimum_for_rewards` in smallest units.
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
        """Build the market from `data`."""
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
    """Compound V3 markets of a chain, with a common governor."""

    governor: str
    markets: tuple[CometMarket, ...]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Build the section from the table."""
        return cls(data["governor"], tuple(map(CometMarket.from_json, data["markets"])))

    def market(self, key: str) -> CometMarket:
        """Return the market called `key`; raise `UnknownName` with the nearest names."""
        for market in self.markets:
            if market.key == key:
                return market
        raise UnknownName.of("Compound market", key, [market.key for market in self.markets])
