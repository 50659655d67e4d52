"""Intervals of means over one time series, whose neighbouring values depend on each other for an unknown time.

The series is cut into consecutive blocks, and the mean of each block counts as one value. If the dependence lasts
longer than a block, block means are correlated and their spread understates the error. A test for that would select
series that look calm by chance. So no interval is withheld; each is as wide as the dependence that the blocks cannot
rule out:

- The correlation of neighbouring blocks is replaced by the upper end of its own confidence interval, and the blocks are
  modelled as a first-order autoregression with that correlation.
- The same is done with blocks that are twice, four times, … as long, as far as there are eight of them, and the widest
  interval counts. Long ones show a slow drift that is weak beside the noise of a short block.

Terms of two series that are cut alike can be subtracted, so differences stay paired. The difference is assumed to be
at least as autocorrelated as each of the two series.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.statistics.distributions import student_t_quantile
from mayavi.statistics.estimate import CONFIDENCE, Estimate
from mayavi.statistics.means import FEWEST_RUNS, mean_distances, mean_of

Floats = NDArray[np.float64]

FEWEST_LONG_BLOCKS = 8
"""Fewest longer blocks whose spread is used."""
MOST_ALIKE = 0.999
"""Largest assumed correlation of neighbouring blocks: the interval is 45 times as wide."""
ERRORS, ERRORS_OF_LONG_BLOCKS = 2.0, 1.0
"""Standard errors between the estimated correlation and the assumed one."""


def block_count(length: int, block: int) -> int:
    """Number of blocks of at least `block` values in a series of `length` values, at least one."""
    if block < 1:
        raise UsageError(f"blocks of {block} values are empty", "a block has at least one value")
    return max(1, length // block)


def block_terms(values: Floats, blocks: int) -> Floats:
    """Mean of each block less the mean of all, along the last axis: shape (..., blocks).

    All blocks have the same length; the few values behind the last one belong to none. Differences that are rounding
    errors are zero.
    """
    size = values.shape[-1] // blocks
    means = values[..., : blocks * size].reshape(*values.shape[:-1], blocks, size).mean(axis=-1)
    terms = means - means.mean(axis=-1, keepdims=True)
    largest = np.abs(means).max(axis=-1, keepdims=True)
    negligible = np.abs(terms).max(axis=-1, keepdims=True) <= 1e-9 * np.maximum(largest, 1e-12)
    return np.where(negligible, 0.0, terms)


def block_distances(
    terms: Floats, confidence: float = CONFIDENCE, parts: Sequence[Floats] = ()
) -> tuple[Floats, Floats]:
    """Distances of the bounds below and above the mean over blocks, along the last axis; NaN where none is shown.

    `parts` are the terms of the series whose difference `terms` are, if they are one.
    """
    below, above = mean_distances(terms, confidence)
    wider = _widest(terms, parts, ERRORS)
    below, above = below * wider, above * wider
    length, longer = terms.shape[-1], 2
    while length // longer >= FEWEST_LONG_BLOCKS:
        count = length // longer
        long_terms = block_terms(terms, count)
        wider = _widest(long_terms, [block_terms(each, count) for each in parts], ERRORS_OF_LONG_BLOCKS)
        error = long_terms.std(axis=-1, ddof=1) / math.sqrt(count) * wider
        distance = student_t_quantile(1 - (1 - confidence) / 2, count - 1) * error
        below, above, longer = np.maximum(below, distance), np.maximum(above, distance), longer * 2
    return below, above


def estimate_over_blocks(
    value: float, terms: Floats, confidence: float = CONFIDENCE, parts: Sequence[Floats] = ()
) -> Estimate:
    """Estimate `value` from the terms of consecutive blocks, whose mean is zero; no interval below 20 blocks.

    `parts` are the terms of the series whose difference it is, if it is one.
    """
    below, above = (float(each) for each in block_distances(terms, confidence, parts))
    if math.isnan(below):
        needed = mean_of(terms, confidence).runs_needed if len(terms) else FEWEST_RUNS
        return Estimate(value, None, None, needed)
    return Estimate(value, value - below, value + above)


def widening(terms: Floats, errors: float) -> Floats:
    """Factor by which the error of a mean exceeds that of independent blocks, along the last axis.

    It is that of an autoregression with the largest correlation that lies within `errors` standard errors.
    """
    count = terms.shape[-1]
    alike = neighbour_correlation(terms)
    alike = alike + (1 + 3 * np.maximum(alike, 0.0)) / count  # the bias of a short series
    spread = np.sqrt(np.maximum(1 - np.square(np.clip(alike, -0.99, 0.99)), 2 / count) / count)
    most = np.clip(alike + errors * spread, 0.0, MOST_ALIKE)
    return np.asarray(np.sqrt((1 + most) / (1 - most)))


def _widest(terms: Floats, parts: Sequence[Floats], errors: float) -> Floats:
    found = widening(terms, errors)
    for each in parts:
        found = np.maximum(found, widening(each, 0.0))
    return found


def neighbour_correlation(terms: Floats) -> Floats:
    """Correlation of each block's term with the next one's, along the last axis; 0 if all are equal."""
    away = terms - terms.mean(axis=-1, keepdims=True)
    spread = np.square(away).sum(axis=-1)
    products = (away[..., 1:] * away[..., :-1]).sum(axis=-1)
    return np.asarray(products / np.where(spread > 0, spread, 1.0))
