"""Initial states of borrower episodes: drawn from intervals, or fixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mayavi.evm.units import WAD
from mayavi.gym_env.lending.adapter import LendingAdapter
from mayavi.gym_env.lending.config import LendingConfig
from mayavi.gym_env.rows import Rows
from mayavi.markets.process import Floats
from mayavi.numerics import portable
from mayavi.numerics.vector_draws import below, halves, put_back, raw_words, redrawn, uniform

MILLION = 10**6
FIXED_HEALTH_FACTOR = 1.25
"""Initial health factor of the fixed start, which has one whole token of collateral."""
BUSY_SHARE = 0.5
"""Share of episodes with a utilisation above the kink of the rate curve."""
_ROOM_PPM = 950_000  # share of the room under caps: interest accrues until the start
_LARGEST_LOAN_PPM = 999_000  # share of the largest loan, a margin for rounding
AMOUNTS = 4_097
"""Number of amounts of collateral to draw from."""
OPENING = ("blocks", "lend", "market_supply", "market_borrow", "supply", "borrow")
"""Inputs of the opening program: blocks that pass, then the amounts of its transactions in their order."""


class Start(NamedTuple):
    """Initial state of one episode, in integers."""

    blocks: int
    """Blocks that pass first."""
    collateral: int
    """Amount in smallest units."""
    health_factor_ppm: int
    utilisation_ppm: int | None
    """None leaves the reserve as it is."""
    cash_yield_ppm: int
    """Annual yield."""


def fixed_start(unit: int) -> Start:
    """Fixed start: one whole token, a health factor of 1.25, an unchanged market and no yield."""
    return Start(0, unit, round(FIXED_HEALTH_FACTOR * MILLION), None, 0)


def amounts_of(config: LendingConfig, unit: int) -> list[int]:
    """Amounts of collateral to draw from, in smallest units, evenly spaced on a logarithmic scale."""
    smallest, largest = portable.log(config.collateral_amount)
    whole = portable.exp(np.linspace(smallest, largest, AMOUNTS))
    return [each * unit // MILLION for each in _ppm(whole)]


def drawn_start(config: LendingConfig, amounts: list[int], kink: float, rng: np.random.Generator) -> Start:
    """Draw a start from the intervals of `config`; `kink` is the utilisation above which rates rise steeply.

    Rates hardly vary below the kink and vary much above it, so one half of the episodes is drawn on each side.
    """
    utilisation = low, high = config.utilisation
    if low < kink < high:
        utilisation = (kink, high) if rng.random() < BUSY_SHARE else (low, kink)
    blocks, collateral = int(rng.integers(config.start_blocks + 1)), amounts[rng.integers(len(amounts))]
    shares = [rng.uniform(*each) for each in (config.health_factor, utilisation, config.cash_yield)]
    return Start(blocks, collateral, *_ppm(np.array(shares)))


def drawn_starts(
    config: LendingConfig, amounts: list[int], kink: float, rngs: Sequence[np.random.Generator]
) -> tuple[list[Start], Rows]:
    """`drawn_start` for each of `rngs`, and the indices of RNGs that may hold half a word, to draw from one by one."""
    low, high = config.utilisation
    utilisation: tuple[Floats | float, Floats | float] = low, high
    words = raw_words(rngs, 5 if low < kink < high else 4)
    if low < kink < high:
        busy = uniform(words[0]) < BUSY_SHARE
        utilisation = np.where(busy, kink, low), np.where(busy, high, kink)
    later, larger = halves(words[-4])
    health, lent, cash = uniform(words[-3:])
    columns = (
        below(later, config.start_blocks + 1).tolist(),
        [amounts[index] for index in below(larger, len(amounts)).tolist()],
        _ppm(between(config.health_factor, health)),
        _ppm(between(utilisation, lent)),
        _ppm(between(config.cash_yield, cash)),
    )
    starts = [Start(*each) for each in zip(*columns, strict=True)]
    odd = np.flatnonzero(redrawn(later, config.start_blocks + 1) | redrawn(larger, len(amounts)))
    for row in odd.tolist():
        put_back(rngs[row], len(words))
        starts[row] = drawn_start(config, amounts, kink, rngs[row])
    return starts, odd


class Opener:
    """Amounts of the opening transactions on `adapter`, in smallest units."""

    def __init__(self, adapter: LendingAdapter) -> None:
        self._terms = terms = adapter.terms
        self._unit, self._debt_unit = adapter.unit, adapter.debt_unit
        self._lendable, supplies, borrows = (each * _ROOM_PPM // MILLION for each in terms.room)
        # The market supplies a tenth more collateral than its loans need: this ratio of collateral to debt.
        self._of_collateral = terms.price_e8 * adapter.debt_unit * terms.ltv_wad * 10
        self._of_debt = terms.debt_price_e8 * adapter.unit * WAD * 11
        self._borrowable = min(borrows, supplies * self._of_collateral // self._of_debt)

    def amounts(self, start: Start) -> tuple[int, int, int, int, int, int]:
        """Inputs of the opening program, in the order of `OPENING`.

        The rest of the market lends or borrows until the reserve reaches the utilisation of the start, or as close as
        caps allow.
        """
        terms, lend, backing, market_borrow = self._terms, 0, 0, 0
        busy = start.utilisation_ppm
        if busy is not None:
            lend = min(max(0, terms.borrowed * MILLION // busy - terms.supplied), self._lendable)
            market_borrow = min(max(0, terms.supplied * busy // MILLION - terms.borrowed), self._borrowable)
            backing = market_borrow * self._of_debt // self._of_collateral
        value = start.collateral * terms.price_e8 // self._unit
        most = value * terms.ltv_wad // WAD * _LARGEST_LOAN_PPM // MILLION
        debt = min(value * terms.threshold_wad // WAD * MILLION // start.health_factor_ppm, most)
        loan = debt * self._debt_unit // terms.debt_price_e8
        if loan < terms.least_debt:
            loan = 0
        return start.blocks, lend, backing, market_borrow, start.collateral, loan


def between(interval: tuple[Floats | float, Floats | float], draws: Floats) -> Floats:
    """Map `draws` from [0, 1) to `interval`, as `Generator.uniform` does."""
    return interval[0] + (interval[1] - interval[0]) * draws


def _ppm(values: Floats) -> list[int]:
    ppm: list[int] = np.rint(values * MILLION).astype(np.int64).tolist()
    return ppm
