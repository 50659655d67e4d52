"""Estimates over the episodes of an evaluation, with confidence intervals.

Means, ratios of means and probabilities have the closed intervals of `means` and `proportions`. Other statistics are
bootstrapped: episodes are resampled with replacement, and the percentiles of the resampled statistics, widened after
Student's t, are the interval. Paired differences are estimated from the differences, so pairs stay together. The random
stream is seeded by name: the same rewards give the same intervals on every machine.

Trainings of several seeds are pooled: half-widths over episodes and over trainings are added in squares, because both
add to the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.numerics.streams import stream
from mayavi.statistics.distributions import student_t_quantile
from mayavi.statistics.estimate import CONFIDENCE, Estimate
from mayavi.statistics.means import exact_mean, mean_of
from mayavi.statistics.proportions import estimate_share

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""Function that reduces samples along the last axis to one number each."""

RESAMPLES = 10_000
FEWEST_RESAMPLED = 6
"""Fewest values whose bootstrap interval is shown."""
_DRAWS_AT_ONCE = 2_000_000


def mean(samples: Floats) -> Floats:
    """Arithmetic mean."""
    return np.asarray(samples.mean(axis=-1))


def interquartile_mean(samples: Floats) -> Floats:
    """Mean without the lowest and the highest quarter of the episodes, each rounded down."""
    count = samples.shape[-1]
    cut = count // 4
    if not cut:
        return mean(samples)
    middle = np.partition(samples, (cut, count - cut - 1), axis=-1)[..., cut : count - cut]
    return np.asarray(middle.mean(axis=-1))


def improvement(differences: Floats) -> Floats:
    """Share of paired differences above zero, ties counting half."""
    return np.asarray((differences > 0).mean(axis=-1) + (differences == 0).mean(axis=-1) / 2)


def deviation(values: Floats) -> float:
    """Population standard deviation by exact summation; exactly 0 if all values are equal."""
    if (values == values[0]).all():
        return 0.0
    centre = exact_mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values.tolist()) / len(values))


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Settings of intervals: equal settings give equal intervals for equal values."""

    seed: int = 0
    resamples: int = RESAMPLES
    confidence: float = CONFIDENCE
    independent_episodes: int | None = None
    """Number of non-overlapping episodes, or None if all are independent. An interval is no shorter than that of this
    number of independent values: overlapping windows of one history add little evidence."""

    def __post_init__(self) -> None:
        if self.resamples < 100:
            raise UsageError(f"{self.resamples} resamples are too few", "give at least 100")
        if not 0 < self.confidence < 1:
            raise UsageError(f"a confidence of {self.confidence} is not valid", "give one between 0 and 1: 0.95")

    def estimate(self, values: Floats, statistic: Statistic = mean) -> Estimate:
        """Estimate `statistic` of `values`, which hold one value per episode."""
        values = checked(values)
        size = self._size(len(values))
        if statistic is mean:
            return mean_of(values, self.confidence, independent=size)
        if statistic is improvement:
            return self._share(float(improvement(values)), size)
        return self._resampled(values, statistic, size)

    def interval(self, centre: float, resampled: Floats, count: int) -> Estimate:
        """Percentile interval of resampled values of `count` independent values, widened after Student's t."""
        if count < FEWEST_RESAMPLED:
            return Estimate(centre, None, None, FEWEST_RESAMPLED)
        tail = expanded_tail((1 - self.confidence) / 2, count)
        low, high = np.quantile(resampled, [tail, 1 - tail])
        return Estimate(centre, float(low), float(high))

    def estimate_pooled(self, values: Floats, statistic: Statistic = mean) -> Estimate:
        """Estimate `statistic` of (trainings, episodes) values.

        The interval accounts for the choice of training seeds and of episodes.
        """
        values = np.asarray(values, dtype=np.float64)
        checked(values.ravel())
        found = self.estimate(values.mean(axis=0), statistic)
        pooled = self.pooled(found, np.asarray(statistic(values)))
        if statistic is not improvement or pooled.low is None or pooled.high is None:
            return pooled
        return Estimate(pooled.value, max(0.0, pooled.low), min(1.0, pooled.high))

    def pooled(self, estimate: Estimate, by_training: Floats) -> Estimate:
        """Widen an estimate of the mean training by the spread of `by_training`, one value per training."""
        trainings = len(by_training)
        if trainings < 2 or estimate.low is None or estimate.high is None:
            return estimate
        student = student_t_quantile(1 - (1 - self.confidence) / 2, trainings - 1)
        spread = student * float(by_training.std(ddof=1)) / math.sqrt(trainings)
        below, above = estimate.value - estimate.low, estimate.high - estimate.value
        return Estimate(
            estimate.value, estimate.value - math.hypot(spread, below), estimate.value + math.hypot(spread, above)
        )

    def estimate_ratio(self, parts: Floats, wholes: Floats) -> Estimate | None:
        """Estimate mean(parts) / mean(wholes) of non-negative `wholes`; None if all of them are zero.

        The interval is that of the mean of the ratio's linear terms. A term is weighted by what the ratio would be
        without its episode, because episodes with large wholes pull the ratio towards themselves.
        """
        parts, wholes = checked(parts), checked(wholes)
        whole = exact_mean(wholes)
        if whole <= 0:
            return None
        ratio = exact_mean(parts) / whole
        weights = np.maximum(0.1, 1 - wholes / wholes.sum()) ** -2
        terms = (parts - ratio * wholes) / whole * weights
        if np.abs(terms).max() <= 1e-12 * max(1.0, abs(ratio)):
            return Estimate(ratio, ratio, ratio)  # every episode has the same ratio
        found = self.linearised(ratio, terms)
        if found.low is None or found.high is None:
            return found
        low = max(0.0, found.low) if (parts >= 0).all() else found.low
        high = min(1.0, found.high) if (parts <= wholes).all() else found.high
        return Estimate(ratio, low, high)

    def linearised(self, value: float, terms: Floats) -> Estimate:
        """Estimate a smooth function of means, given its first-order terms, one per episode with a mean of zero."""
        found = mean_of(terms, self.confidence, independent=self._size(len(terms)))
        if found.low is None or found.high is None:
            return Estimate(value, None, None, found.runs_needed)
        return Estimate(value, value + found.low - found.value, value + found.high - found.value)

    def _size(self, count: int) -> int:
        return count if self.independent_episodes is None else min(count, self.independent_episodes)

    def _share(self, share: float, size: int) -> Estimate:
        found = estimate_share(round(share * size * 2) / 2, size, self.confidence)
        return Estimate(share, found.low, found.high)

    def _resampled(self, values: Floats, statistic: Statistic, size: int) -> Estimate:
        if (values == values[0]).all():
            return Estimate(float(statistic(values[:1])), None, None)  # equal values show no spread
        parts = [statistic(values[drawn]) for drawn in self._draws("episodes", len(values), size)]
        return self.interval(float(statistic(values)), np.concatenate(parts), size)

    def _draws(self, name: str, count: int, size: int) -> Iterator[NDArray[np.int64]]:
        """Yield resampled indices, (rows, size), in batches of bounded memory."""
        rng = stream(self.seed, "bootstrap", name)
        rows = max(1, _DRAWS_AT_ONCE // size)
        for start in range(0, self.resamples, rows):
            yield rng.integers(count, size=(min(rows, self.resamples - start), size))


def expanded_tail(tail: float, count: int) -> float:
    """Smaller tail probability, which widens the percentile interval of a bootstrap of only `count` values."""
    student = student_t_quantile(1 - tail, count - 1)
    return NormalDist().cdf(-math.sqrt(count / (count - 1)) * student)


def checked(values: Floats) -> Floats:
    """Convert to an array; raise `UsageError` if it is empty or has a value that is not finite."""
    sample = np.asarray(values, dtype=np.float64)
    if not sample.size:
        raise UsageError("there are no episodes to estimate from", "play at least one")
    if not np.isfinite(sample).all():
        raise UsageError(f"{sample[~np.isfinite(sample)][0]} is not a valid reward", "rewards must be finite numbers")
    return sample
