"""Where episodes of a borrower start: drawn from intervals, or one state for all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mayavi.evm.units import WAD
from mayavi.gym_env.lending_config import LendingConfig
from mayavi.gym_env.lending_desk import Desk
from mayavi.markets import portable

MILLION = 10**6
FIXED_HEALTH_FACTOR = 1.25
"""Where the loan of the fixed start is opened, on one whole token of collateral."""
BUSY_SHARE = 0.5
"""In so many episodes the reserve is busier than its rates were made for; in the others it is calmer."""
_ROOM_PPM = 950_000  # of what caps leave, for interest comes on top until the start
_LARGEST_LOAN_PPM = 999_000  # of what may be borrowed, so that rounding refuses none
AMOUNTS = 4_097
"""So many amounts of collateral there are to draw from."""
OPENING = ("blocks", "lend", "market_supply", "market_borrow", "supply", "borrow")
"""What a start is made of: how many blocks pass, then amounts of transactions in their order."""


@dataclass(frozen=True, slots=True)
class Start:
    """The start of one episode, in integers."""

    blocks: int
    """They pass first."""
    collateral: int
    """Smallest units."""
    health_factor_ppm: int
    utilisation_ppm: int | None
    """None: as the reserve stands."""
    cash_yield_ppm: int
    """A year."""


def fixed_start(unit: int) -> Start:
    """One whole token, a health factor of 1.25, the market as it stands, dollars that earn nothing."""
    return Start(0, unit, round(FIXED_HEALTH_FACTOR * MILLION), None, 0)


def amounts_of(config: LendingConfig, unit: int) -> list[int]:
    """The amounts of collateral that are drawn from: evenly spaced on a logarithmic scale, in smallest units."""
    smallest, largest = portable.log(config.collateral_amount)
    whole = portable.exp(np.linspace(smallest, largest, AMOUNTS))
    return [_ppm(float(each)) * unit // MILLION for each in whole]


def drawn_start(config: LendingConfig, amounts: list[int], kink: float, chance: np.random.Generator) -> Start:
    """A start from `config`'s intervals; `kink` is the utilisation above which the reserve's rates rise steeply.

    Below the kink rates hardly differ, above it they differ by much: so one half of the episodes is drawn on each side.
    """
    low, high = config.utilisation
    if low < kink < high:
        low, high = (kink, high) if chance.random() < BUSY_SHARE else (low, kink)
    blocks, collateral = int(chance.integers(config.start_blocks + 1)), amounts[chance.integers(len(amounts))]
    health, busy, cash = chance.random(3).tolist()
    return Start(
        blocks=blocks,
        collateral=collateral,
        health_factor_ppm=_ppm(between(config.health_factor, health)),
        utilisation_ppm=_ppm(between((low, high), busy)),
        cash_yield_ppm=_ppm(between(config.cash_yield, cash)),
    )


def opened(start: Start, desk: Desk) -> dict[str, int]:
    """What makes the start, by the names of `OPENING` and in their order, in smallest units.

    The rest of the market lends or borrows more until the reserve is as busy as the start says, or nearly so where caps
    leave no room for it.
    """
    terms, lend, backing, market_borrow = desk.terms, 0, 0, 0
    if start.utilisation_ppm is not None:
        room = [each * _ROOM_PPM // MILLION for each in terms.room]
        lend = min(max(0, terms.borrowed * MILLION // start.utilisation_ppm - terms.supplied), room[0])
        backed = (
            room[1]
            * terms.price_e8
            * terms.ltv_wad
            * desk.debt_unit
            * 10
            // (11 * WAD * terms.debt_price_e8 * desk.unit)
        )
        market_borrow = min(max(0, terms.supplied * start.utilisation_ppm // MILLION - terms.borrowed), room[2], backed)
        backing = market_borrow * terms.debt_price_e8 * desk.unit * WAD * 11
        backing //= terms.price_e8 * desk.debt_unit * terms.ltv_wad * 10
    value = start.collateral * terms.price_e8 // desk.unit
    most = value * terms.ltv_wad // WAD * _LARGEST_LOAN_PPM // MILLION
    debt = min(value * terms.threshold_wad // WAD * MILLION // start.health_factor_ppm, most)
    loan = debt * desk.debt_unit // terms.debt_price_e8
    loan = loan if loan >= terms.least_debt else 0
    amounts = start.blocks, lend, backing, market_borrow, start.collateral, loan
    return dict(zip(OPENING, amounts, strict=True))


def between(interval: tuple[float, float], lot: float) -> float:
    """The number that `lot`, one of 0 … 1, is in `interval`: what `Generator.uniform` makes of it, in less time."""
    return interval[0] + (interval[1] - interval[0]) * lot


def _ppm(value: float) -> int:
    return round(value * MILLION)
