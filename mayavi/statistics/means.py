"""Means with confidence intervals that hold for small and skewed samples.

The interval is the wider of two on each side: Student's t, and Hall's (1992) transformation of it, which moves the
bounds by the skewness of the sample. The second uses half the degrees of freedom, because the skewness is estimated
too. No method covers the mean of every distribution, so no interval is given for a sample that cannot show what a
mean depends on: fewer than 20 runs, fewer than 5 that differ from the commonest outcome, or a single run that makes up
most of the spread. docs/concepts/intervals.md has the measured coverage.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from mayavi.statistics.distributions import student_t_quantile
from mayavi.statistics.estimate import CONFIDENCE, Estimate, check_confidence, outcomes

Floats = NDArray[np.float64]

FEWEST_RUNS = 20
FEWEST_DIFFERENT = 5
"""Fewest runs that differ from the commonest outcome."""
MOST_SKEWED = 0.8
"""Largest skewness over the square root of the number of runs; 1 is a single outlier among equal values."""
_USUAL_SKEWED = 0.5


def exact_mean(values: Floats) -> float:
    """Mean by exact summation: independent of the order, and exact for equal values."""
    if (values == values[0]).all():
        return float(values[0])
    return math.fsum(values.tolist()) / len(values)


def estimate_mean(
    values: Iterable[float], confidence: float = CONFIDENCE, *, independent: int | None = None
) -> Estimate:
    """Mean with its interval, or without one where none can be trusted.

    `independent` is the number of independent values among them, if fewer than all.
    """
    return mean_of(outcomes(values), confidence, independent=independent)


def mean_of(sample: Floats, confidence: float = CONFIDENCE, *, independent: int | None = None) -> Estimate:
    """Estimate the mean of an array of outcomes."""
    check_confidence(confidence)
    centre = exact_mean(sample)
    count = len(sample) if independent is None else min(len(sample), independent)
    different = len(sample) - _commonest(sample)
    if not different or count < 2:
        needed = None if count >= FEWEST_RUNS else FEWEST_RUNS
        return Estimate(centre, None, None, needed)
    skewness, error = _skewness(sample, centre), _deviation(sample, centre) / math.sqrt(count)
    skewed = abs(skewness) / math.sqrt(count)
    if count < FEWEST_RUNS or different < FEWEST_DIFFERENT or skewed > MOST_SKEWED:
        wanted = [FEWEST_RUNS, count * FEWEST_DIFFERENT / different if different < FEWEST_DIFFERENT else 0]
        wanted.append(count * (skewed / _USUAL_SKEWED) ** 2 if skewed > MOST_SKEWED else 0)
        return Estimate(centre, None, None, rounded_up(max(*wanted, count + 1)))
    below, above = _bounds(skewness * math.sqrt(count * (count - 1)) / (count - 2), count, confidence)
    low, high = centre - error * below, centre + error * above
    if sample.min() >= 0:
        low = max(low, 0.0)
    if sample.max() <= 0:
        high = min(high, 0.0)
    return Estimate(centre, low, high)


def _bounds(skewness: float, count: int, confidence: float) -> tuple[float, float]:
    """Distances of the bounds below and above the mean, in standard errors."""
    upper = 1 - (1 - confidence) / 2
    plain = student_t_quantile(upper, count - 1)
    wide = student_t_quantile(upper, count / 2 - 1)
    slope = skewness / math.sqrt(count)
    if abs(slope) < 1e-9:
        return max(plain, wide), max(plain, wide)
    ends = [3 / slope * (float(np.cbrt(1 + slope * (end - slope / 6))) - 1) for end in (wide, -wide)]
    return max(plain, *ends), max(plain, *(-end for end in ends))


def _commonest(sample: Floats) -> int:
    """Number of times that the commonest outcome occurs."""
    return int(np.unique(sample, return_counts=True)[1].max())


def _deviation(sample: Floats, centre: float) -> float:
    return math.sqrt(float(np.square(sample - centre).sum()) / (len(sample) - 1))


def _skewness(sample: Floats, centre: float) -> float:
    away = sample - centre
    away = away / np.abs(away).max()  # no power overflows
    return float((away**3).mean() / np.square(away).mean() ** 1.5)


def rounded_up(number: float) -> int:
    """Round up to two digits: the number of runs needed is a rough one."""
    unit: int = 10 ** max(0, math.floor(math.log10(number)) - 1)
    return math.ceil(number / unit) * unit
