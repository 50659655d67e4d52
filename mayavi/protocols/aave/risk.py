"""Aave's health factor and liquidation price, in the pool's integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mayavi.evm.units import WAD
from mayavi.protocols.health import NO_DEBT

_HIGHEST_PRICE = 1 << 128


@dataclass(frozen=True, slots=True)
class Holding:
    """Collateral and debt of an account in one reserve, in smallest units."""

    collateral: int
    """Zero if the asset is not enabled as collateral."""
    debt: int
    unit: int
    price: int
    liquidation_threshold_bps: int


Health = Callable[[Sequence[Holding]], int]


def health_by_average(holdings: Sequence[Holding]) -> int:
    """Health factor in wad by the V3.0 rule: average threshold truncated to whole basis points."""
    debt = sum(each.debt * each.price // each.unit for each in holdings)
    if debt == 0:
        return NO_DEBT
    values = [
        (each.collateral * each.price // each.unit, each.liquidation_threshold_bps)
        for each in holdings
        if each.liquidation_threshold_bps
    ]
    total = sum(value for value, _ in values)
    average_bps = sum(value * threshold for value, threshold in values) // total if total else 0
    covered = (total * average_bps + 5_000) // 10_000
    return (covered * WAD + debt // 2) // debt


def health_by_sum(holdings: Sequence[Holding]) -> int:
    """Health factor in wad by the V3.5 rule: no average, and debt rounded up."""
    debt = sum(-(-each.debt * each.price // each.unit) for each in holdings)
    if debt == 0:
        return NO_DEBT
    weighted = sum(each.collateral * each.price // each.unit * each.liquidation_threshold_bps for each in holdings)
    return (weighted * WAD + debt // 2) // debt // 10_000


def liquidation_price(holdings: Sequence[Holding], index: int, health: Health = health_by_average) -> int | None:
    """Find by bisection the highest price of `holdings[index]` at which health is below 1.

    All other prices stay; None if no price makes the difference. Health falls with the price, with one exception: V3.0
    truncates the average threshold to whole basis points, so with several kinds of collateral it can cross 1 more than
    once within a few ten-thousandths of the price.
    """

    def healthy(price: int) -> bool:
        return health([*holdings[:index], replace(holdings[index], price=price), *holdings[index + 1 :]]) >= WAD

    low, high = 1, max(holdings[index].price, 1)
    if healthy(low):
        return None
    while not healthy(high):
        low, high = high, 2 * high
        if high > _HIGHEST_PRICE:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if healthy(middle) else (middle, high)
    return low


def withdrawable(holdings: Sequence[Holding], index: int, health: Health = health_by_average) -> int:
    """Return how much of the collateral `holdings[index]` can be withdrawn before health is below 1."""

    def healthy(amount: int) -> bool:
        left = replace(holdings[index], collateral=holdings[index].collateral - amount)
        return health([*holdings[:index], left, *holdings[index + 1 :]]) >= WAD

    low, high = 0, holdings[index].collateral
    if healthy(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if healthy(middle) else (low, middle)
    return low
