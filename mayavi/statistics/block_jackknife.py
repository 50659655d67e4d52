"""Block jackknife: intervals of statistics of one time series whose neighbouring values depend on each other.

The series is cut into consecutive blocks, long enough that blocks are nearly independent. Leaving out each block in
turn shows how much it contributes to the statistic: its *term*. The statistic is then estimated like a mean over so
many blocks (Künsch 1989; Carlstein 1986 for means), with an allowance for neighbours that are alike. Terms of two
series that are cut alike can be subtracted, so differences stay paired. Quantiles are not smooth enough for that; they
have an interval of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.statistics.bootstrap import Bootstrap
from mayavi.statistics.estimate import Estimate

Floats = NDArray[np.float64]

MOST_ALIKE = 0.4
"""Largest correlation of neighbouring blocks whose interval is shown."""
_VALUES_AT_ONCE = 1_000_000


def block_count(length: int, block: int) -> int:
    """Number of blocks of at least `block` values in a series of `length` values, at least one."""
    if block < 1:
        raise UsageError(f"blocks of {block} values are empty", "a block has at least one value")
    return max(1, length // block)


def left_out(length: int, blocks: int) -> Iterator[NDArray[np.int64]]:
    """Yield the indices that remain without each block: arrays of shape (rows, remaining), `blocks` rows in all.

    All blocks have `length // blocks` values; the few values behind the last block always remain. Arrays come in
    batches of bounded memory.
    """
    size = length // blocks
    kept = np.arange(length - size)
    at_once = max(1, _VALUES_AT_ONCE // length)
    for start in range(0, blocks, at_once):
        begins = np.arange(start, min(start + at_once, blocks))[:, None] * size
        yield np.where(kept < begins, kept, kept + size)


def block_terms(
    series: tuple[Floats, ...],
    statistics: Callable[..., Mapping[str, Floats]],
    blocks: int,
    totals: frozenset[str] = frozenset(),
) -> dict[str, Floats]:
    """Term of each block in each statistic, with a mean of nearly zero: arrays of shape (blocks,) by name.

    `statistics(*series)` gets arrays of shape (rows, values) and returns arrays of shape (rows,) by name. `totals`
    names the statistics that add up over the values, which are scaled to the whole length.
    """
    if blocks < 2:
        return {name: np.zeros(blocks) for name in statistics(*(array[None] for array in series))}
    length = len(series[0])
    size = length // blocks
    whole = statistics(*(array[None] for array in series))
    parts: dict[str, list[Floats]] = {name: [] for name in whole}
    for kept in left_out(length, blocks):
        for name, figures in statistics(*(array[kept] for array in series)).items():
            parts[name].append(figures)
    found = {}
    for name, each in parts.items():
        without = np.concatenate(each) * (length / (length - size) if name in totals else 1.0)
        terms = (whole[name] - without) * ((length - size) / size)
        negligible = np.abs(terms).max() <= 1e-9 * max(abs(float(whole[name][0])), 1e-12)  # rounding is no spread
        found[name] = np.zeros(blocks) if negligible else terms
    return found


def estimate_over_blocks(value: float, terms: Floats, bootstrap: Bootstrap) -> Estimate:
    """Estimate a statistic from the terms of consecutive blocks, like a mean over them.

    Neighbouring blocks that are alike carry less evidence: the interval is widened as a first-order autoregression of
    the blocks requires. There is none above `MOST_ALIKE`, because the blocks are then too short.
    """
    found, alike = bootstrap.linearised(value, terms), neighbour_correlation(terms)
    if found.low is None or found.high is None:
        return found
    if alike > MOST_ALIKE:
        return Estimate(value, None, None)
    wider = math.sqrt((1 + max(0.0, alike)) / (1 - max(0.0, alike)))
    return Estimate(value, value - wider * (value - found.low), value + wider * (found.high - value))


def neighbour_correlation(terms: Floats) -> float:
    """Correlation of each block's term with the next one's, without the bias of a short series; 0 if all are equal."""
    away = terms - terms.mean()
    spread = float(np.square(away).sum())
    return float((away[1:] * away[:-1]).sum()) / spread + 1 / len(terms) if spread else 0.0


def exceedance_interval(values: Floats, share: float, blocks: int, bootstrap: Bootstrap) -> Estimate:
    """Value that a `share` of the series reaches or exceeds, with Woodruff's (1952) interval.

    The share of values at or above it in each block gives the interval of the share, and the values at its two ends
    are the interval of the value. The share is counted in whole values, rounded up.
    """
    length = len(values)
    falling = -np.sort(-values)
    rank = max(1, math.ceil(round(length * share, 9)))
    value = float(falling[rank - 1])
    size = length // blocks
    shares = (values[: blocks * size].reshape(blocks, size) >= value).mean(axis=1)
    found = estimate_over_blocks(rank / length, shares - shares.mean(), bootstrap)
    if found.low is None or found.high is None:
        return Estimate(value, None, None, found.runs_needed)
    fewest, most = math.floor(found.low * length), math.ceil(found.high * length)
    low = float(falling[min(most, length - 1)])
    return Estimate(value, low, float(falling[fewest - 1]) if fewest >= 1 else None)
