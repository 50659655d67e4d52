"""What an Aave pool computes from prices, in its own integers: the health factor, and the price that ends it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mayavi.evm.units import WAD
from mayavi.protocols.health import NO_DEBT

_HIGHEST_PRICE = 1 << 128


@dataclass(frozen=True, slots=True)
class Holding:
    """What an account has in one reserve, as far as its health depends on it. Amounts in smallest units."""

    collateral: int
    """Zero where the asset is not used as collateral."""
    debt: int
    unit: int
    price: int
    liquidation_threshold_bps: int


Health = Callable[[Sequence[Holding]], int]


def health_by_average(holdings: Sequence[Holding]) -> int:
    """The health factor in wad as V3.0 computes it: through an average threshold cut to whole basis points."""
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
    """The health factor in wad as V3.5 computes it: no average, and debt rounded up."""
    debt = sum(-(-each.debt * each.price // each.unit) for each in holdings)
    if debt == 0:
        return NO_DEBT
    weighted = sum(each.collateral * each.price // each.unit * each.liquidation_threshold_bps for each in holdings)
    return (weighted * WAD + debt // 2) // debt // 10_000


def rule_of(holdings: Sequence[Holding], health_factor_wad: int) -> Health:
    """The rule by which a pool that answers `health_factor_wad` computes: V3.5's where only that one fits."""
    if health_by_average(holdings) != health_factor_wad == health_by_sum(holdings):
        return health_by_sum
    return health_by_average


def liquidation_price(holdings: Sequence[Holding], index: int, health: Health = health_by_average) -> int | None:
    """The price of `holdings[index]` where liquidation begins: there health is below 1, one higher it is not.

    Every other price stays. None where no price makes the difference. It is found by bisection. Health falls with the
    price, but for one thing: V3.0 cuts the average threshold to whole basis points, so with several kinds of collateral
    it can step over 1 more than once within a few ten-thousandths of the price.
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
    """How much of the collateral `holdings[index]` can go before health is below 1, every price as it is."""

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
