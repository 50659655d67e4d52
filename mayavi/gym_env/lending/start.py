"""Initial states of borrower episodes: drawn from intervals, or fixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mayavi.evm.words import Words, to_words
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
AMOUNTS = 4_097
"""Number of amounts of collateral to draw from."""


class Starts(NamedTuple):
    """Initial states of episodes, in integers: a row for each episode."""

    blocks: NDArray[np.int64]
    """Blocks that pass first."""
    collateral: NDArray[np.uint8]
    """Amounts in smallest units, as (episodes, 32) bytes."""
    health_factor_ppm: NDArray[np.int64]
    utilisation_ppm: NDArray[np.int64]
    """Zero leaves the reserve as it is."""
    cash_yield_ppm: NDArray[np.int64]
    """Annual yield."""


def fixed_starts(unit: int, count: int) -> Starts:
    """Fixed start: one whole token, a health factor of 1.25, an unchanged market and no yield."""
    none = np.zeros(count, dtype=np.int64)
    health = np.full(count, round(FIXED_HEALTH_FACTOR * MILLION), dtype=np.int64)
    return Starts(none, to_words(unit, count), health, none, none)


def amounts_of(config: LendingConfig, unit: int) -> NDArray[np.uint8]:
    """Amounts of collateral to draw from, evenly spaced on a logarithmic scale: (amounts, 32) bytes, smallest units."""
    smallest, largest = portable.log(config.collateral_amount)
    whole = portable.exp(np.linspace(smallest, largest, AMOUNTS))
    return Words.of([each * unit // MILLION for each in _ppm(whole).tolist()]).words


def drawn_starts(
    config: LendingConfig, amounts: NDArray[np.uint8], kink: float, rngs: Sequence[np.random.Generator]
) -> tuple[Starts, Rows]:
    """Draw a start from each of `rngs`; also returns the indices of RNGs that hold half a word.

    Rates hardly vary below `kink`, a utilisation, and vary much above it: one half of the episodes is on each side.
    """
    low, high = config.utilisation
    utilisation: tuple[Floats | float, Floats | float] = low, high
    words = raw_words(rngs, 5 if low < kink < high else 4)
    if low < kink < high:
        busy = uniform(words[0]) < BUSY_SHARE
        utilisation = np.where(busy, kink, low), np.where(busy, high, kink)
    later, larger = halves(words[-4])
    health, lent, cash = uniform(words[-3:])
    blocks, which = below(later, config.start_blocks + 1), below(larger, len(amounts))
    odd = np.flatnonzero(redrawn(later, config.start_blocks + 1) | redrawn(larger, len(amounts)))
    for row in odd.tolist():  # NumPy draws these from other words
        rng = rngs[row]
        put_back(rng, 4)
        blocks[row], which[row] = rng.integers(config.start_blocks + 1), rng.integers(len(amounts))
        health[row], lent[row], cash[row] = rng.random(3)
    shares = between(config.health_factor, health), between(utilisation, lent), between(config.cash_yield, cash)
    return Starts(blocks, amounts[which], *map(_ppm, shares)), odd


def between(interval: tuple[Floats | float, Floats | float], draws: Floats) -> Floats:
    """Map `draws` from [0, 1) to `interval`, as `Generator.uniform` does."""
    return interval[0] + (interval[1] - interval[0]) * draws


def _ppm(values: Floats) -> NDArray[np.int64]:
    return np.rint(values * MILLION).astype(np.int64)
