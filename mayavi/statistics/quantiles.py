"""Quantiles with exact, distribution-free confidence intervals.

The value is interpolated between the two nearest outcomes (type 7 of Hyndman and Fan, the default of NumPy, pandas, R
and DuckDB's `quantile_cont`). The bounds are outcomes. The number of outcomes at or below a quantile is binomial, so
the ranks of the bounds follow from the number of runs alone, whatever the distribution; ties only widen the coverage.

The error, 5 %, is split evenly between the bounds where the sample allows it. Where it does not, the bound on the side
of the tail takes what it needs: 59 runs have an upper bound of p95, because the largest of 59 exceeds it with a
probability of 95 %. With fewer runs there is no upper bound, and the lower one takes the whole error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.statistics.distributions import binomial_at_least
from mayavi.statistics.estimate import CONFIDENCE, Estimate, check_confidence, outcomes

AT_RISK = 0.95
"""Level of value at risk and liquidations at risk: 95 % of the runs stay below."""

_ROUNDING = 1e-12


def quantile(values: Iterable[float], share: float) -> float:
    """Quantile of the outcomes, interpolated between the two nearest."""
    return float(np.quantile(outcomes(values), _check_share(share)))


def value_at_risk(values: Iterable[float], level: float = AT_RISK) -> float:
    """Value that a share `level` of the runs do not exceed: VaR of bad debt, LaR of liquidated value."""
    return quantile(values, level)


def estimate_quantile(values: Iterable[float], share: float, confidence: float = CONFIDENCE) -> Estimate:
    """Quantile of the distribution behind the outcomes, with its interval."""
    return quantile_of_sorted(np.sort(outcomes(values)), share, confidence)


def quantile_of_sorted(sample: NDArray[np.float64], share: float, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate a quantile from sorted outcomes."""
    low, high = quantile_ranks(len(sample), share, confidence)
    return Estimate(
        float(np.quantile(sample, share)),
        None if low is None else float(sample[low - 1]),
        None if high is None else float(sample[high - 1]),
        None if low is not None and high is not None else runs_needed(share, confidence),
    )


@lru_cache(maxsize=4096)
def quantile_ranks(count: int, share: float, confidence: float = CONFIDENCE) -> tuple[int | None, int | None]:
    """Ranks, from 1, of the outcomes that bound a quantile of `count` runs; None where there is no bound."""
    error = 1 - check_confidence(confidence)
    if not 0 < share < 1:
        raise UsageError(f"there is no interval of the quantile {share}", "give a share between 0 and 1: 0.95")
    if share < 0.5:
        low, high = quantile_ranks(count, 1 - share, confidence)
        return (None if high is None else count + 1 - high), (None if low is None else count + 1 - low)
    high = _upper_rank(count, share, error / 2) or _upper_rank(count, share, error)
    left = error - (0.0 if high is None else binomial_at_least(high, count, share))
    return _lower_rank(count, share, left), high


@lru_cache(maxsize=4096)
def lower_rank(count: int, share: float, confidence: float = CONFIDENCE) -> int | None:
    """Rank of the one-sided lower bound of a quantile."""
    return _lower_rank(count, share, 1 - check_confidence(confidence))


def _lower_rank(count: int, share: float, error: float) -> int | None:
    mirrored = _upper_rank(count, 1 - share, error)
    return None if mirrored is None else count + 1 - mirrored


def _upper_rank(count: int, share: float, error: float) -> int | None:
    """Smallest rank whose outcome lies below the quantile with a probability of at most `error`."""
    if binomial_at_least(count, count, share) > error + _ROUNDING:
        return None
    below, enough = 0, count
    while enough - below > 1:
        middle = (below + enough) // 2
        if binomial_at_least(middle, count, share) <= error + _ROUNDING:
            enough = middle
        else:
            below = middle
    return enough


@lru_cache(maxsize=256)
def runs_needed(share: float, confidence: float = CONFIDENCE) -> int:
    """Fewest runs whose interval of a quantile has both bounds: 59 for p95 and p5, 6 for the median."""
    tail = max(share, 1 - share)
    count = max(1, math.ceil(math.log(1 - confidence) / math.log(tail)) - 1)
    while None in quantile_ranks(count, share, confidence):
        count += 1
    return count


def _check_share(share: float) -> float:
    if not 0 <= share <= 1:
        raise UsageError(f"there is no quantile {share}", "a quantile is a share between 0 and 1: 0.95")
    return share
