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
    """Estimate the mean, with an interval where the sample supports one.

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
    skewness = _skewness(sample - centre)
    skewed = abs(float(skewness)) / math.sqrt(count)
    if count < FEWEST_RUNS or different < FEWEST_DIFFERENT or skewed > MOST_SKEWED:
        wanted = [FEWEST_RUNS, count * FEWEST_DIFFERENT / different if different < FEWEST_DIFFERENT else 0]
        wanted.append(count * (skewed / _USUAL_SKEWED) ** 2 if skewed > MOST_SKEWED else 0)
        return Estimate(centre, None, None, rounded_up(max(*wanted, count + 1)))
    below, above = (float(each) for each in _distances(sample - centre, skewness, count, confidence))
    low, high = centre - below, centre + above
    if sample.min() >= 0:
        low = max(low, 0.0)
    if sample.max() <= 0:
        high = min(high, 0.0)
    return Estimate(centre, low, high)


def mean_distances(
    samples: Floats, confidence: float = CONFIDENCE, *, independent: int | None = None
) -> tuple[Floats, Floats]:
    """Distances of the bounds below and above the mean of each sample along the last axis; NaN where none is shown.

    Vectorised `estimate_mean`: the same rules and bounds, but not clipped at zero for samples of one sign.
    """
    length = samples.shape[-1]
    count = length if independent is None else min(length, independent)
    nothing = np.full(samples.shape[:-1], np.nan)
    if count < FEWEST_RUNS:
        return nothing, nothing
    away = samples - samples.mean(axis=-1, keepdims=True)
    ordered = np.sort(samples, axis=-1)
    equal = (ordered[..., length - FEWEST_DIFFERENT :] == ordered[..., :FEWEST_DIFFERENT]).any(axis=-1)
    away = np.where(equal[..., None], np.arange(float(length)), away)  # placeholder spread; masked below
    skewness = _skewness(away)
    shown = ~equal & (np.abs(skewness) <= MOST_SKEWED * math.sqrt(count))
    below, above = _distances(away, skewness, count, confidence)
    return np.where(shown, below, np.nan), np.where(shown, above, np.nan)


def _distances(away: Floats, skewness: Floats, count: int, confidence: float) -> tuple[Floats, Floats]:
    """Distances of the bounds below and above the mean, given the deviations from it along the last axis."""
    error = np.sqrt(np.square(away).sum(axis=-1) / (away.shape[-1] - 1)) / math.sqrt(count)
    upper = 1 - (1 - confidence) / 2
    plain = student_t_quantile(upper, count - 1)
    wide = student_t_quantile(upper, count / 2 - 1)
    slope = skewness * math.sqrt(count * (count - 1)) / (count - 2) / math.sqrt(count)
    flat = np.abs(slope) < 1e-9
    slope = np.where(flat, 1.0, slope)
    first, second = (3 / slope * (np.cbrt(1 + slope * (end - slope / 6)) - 1) for end in (wide, -wide))
    below = np.where(flat, max(plain, wide), np.maximum(plain, np.maximum(first, second)))
    above = np.where(flat, max(plain, wide), np.maximum(plain, np.maximum(-first, -second)))
    return error * below, error * above


def _commonest(sample: Floats) -> int:
    """Number of times that the commonest outcome occurs."""
    return int(np.unique(sample, return_counts=True)[1].max())


def _skewness(away: Floats) -> Floats:
    """Skewness along the last axis, given deviations from the mean that are not all zero."""
    away = away / np.abs(away).max(axis=-1, keepdims=True)  # no power overflows
    square = np.square(away).mean(axis=-1)
    # Products and roots are the same on every machine; powers are not.
    return np.asarray((away * away * away).mean(axis=-1) / (square * np.sqrt(square)))


def rounded_up(number: float) -> int:
    """Round up to two significant digits: the number of runs is an estimate."""
    unit: int = 10 ** max(0, math.floor(math.log10(number)) - 1)
    return math.ceil(number / unit) * unit
