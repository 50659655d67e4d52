"""Percentile bootstrap over episodes.

Episodes are resampled with replacement; the middle 95 % of the resampled statistics is the confidence interval. All
statistics of one evaluation share the same resamples, so paired differences stay paired. The random stream is seeded by
name: the same rewards give the same intervals on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.numerics.streams import stream
from mayavi.statistics.estimate import Estimate

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""Function that reduces samples along the last axis to one number each."""

RESAMPLES = 10_000
CONFIDENCE = 0.95
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


def exact_mean(values: Floats) -> float:
    """Mean by exact summation: independent of the order, and exact for equal values."""
    if (values == values[0]).all():
        return float(values[0])
    return math.fsum(values.tolist()) / len(values)


def deviation(values: Floats) -> float:
    """Population standard deviation by exact summation; exactly 0 if all values are equal."""
    if (values == values[0]).all():
        return 0.0
    centre = exact_mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values.tolist()) / len(values))


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Bootstrap settings: equal settings give equal intervals for equal values."""

    seed: int = 0
    resamples: int = RESAMPLES
    confidence: float = CONFIDENCE
    independent_episodes: int | None = None
    """Number of non-overlapping episodes, or None if all are independent. Resamples are no larger than this, because
    overlapping windows of one history add little evidence."""

    def __post_init__(self) -> None:
        if self.resamples < 100:
            raise UsageError(f"{self.resamples} resamples are too few", "give at least 100")
        if not 0 < self.confidence < 1:
            raise UsageError(f"a confidence of {self.confidence} is not possible", "give one between 0 and 1: 0.95")

    def estimate(self, values: Floats, statistic: Statistic = mean) -> Estimate:
        """Estimate `statistic` of `values`, which hold one value per episode."""
        values = checked(values)
        if (values == values[0]).all():
            figure = float(statistic(values[:1]))
            return Estimate(figure, figure, figure)
        centre = exact_mean(values) if statistic is mean else float(statistic(values))
        return self._interval(centre, [statistic(values[drawn]) for drawn in self._draws("episodes", len(values))])

    def resampled_means(self, values: Floats) -> Floats:
        """Means of `values` with shape (figures, episodes) in each resample: (resamples, figures).

        Uses the same resamples as `estimate`. Matrix products compute the means, so that thousands of episodes with a
        hundred figures each take seconds.
        """
        figures = np.ascontiguousarray(checked(values).T)
        episodes = len(figures)
        parts = []
        for drawn in self._draws("episodes", episodes):
            drawn += np.arange(len(drawn))[:, None] * episodes
            counts = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
            parts.append(counts.astype(np.float64) @ figures)
        return np.concatenate(parts) / episodes

    def training_weights(self, trainings: int) -> Floats:
        """Resample trainings; return the weight of each training in each resample, (resamples, trainings)."""
        chosen = stream(self.seed, "bootstrap", "trainings").integers(trainings, size=(self.resamples, trainings))
        weights = np.zeros((self.resamples, trainings))
        np.add.at(weights, (np.arange(self.resamples)[:, None], chosen), 1 / trainings)
        return weights

    def interval(self, centre: float, resampled: Floats, trainings: int = 1) -> Estimate:
        """Confidence interval around `centre` from resampled values that pool `trainings` trainings."""
        return self._interval(centre, [resampled], _expanded_tail((1 - self.confidence) / 2, trainings))

    def estimate_pooled(self, values: Floats, statistic: Statistic = mean) -> Estimate:
        """Estimate `statistic` of (trainings, episodes) values, resampling both trainings and episodes.

        The interval accounts for the choice of training seeds and of episodes. Percentile intervals from few trainings
        are too narrow, so the percentiles are widened according to Student's t.
        """
        values = np.asarray(values, dtype=np.float64)
        checked(values.ravel())
        average = values.mean(axis=0)
        centre = exact_mean(average) if statistic is mean else float(statistic(average))
        trainings, episodes = values.shape
        weights = self.training_weights(trainings)
        parts, done = [], 0
        for drawn in self._draws("episodes", episodes):
            mixed = weights[done : done + len(drawn)] @ values
            parts.append(statistic(np.take_along_axis(mixed, drawn, axis=1)))
            done += len(drawn)
        return self._interval(centre, parts, _expanded_tail((1 - self.confidence) / 2, trainings))

    def estimate_ratio(self, parts: Floats, wholes: Floats) -> Estimate | None:
        """Estimate mean(parts) / mean(wholes) of non-negative values; None if all `wholes` are zero."""
        parts, wholes = checked(parts), checked(wholes)
        whole = exact_mean(wholes)
        if whole <= 0:
            return None
        ratios = []
        for drawn in self._draws("episodes", len(parts)):
            above, below = parts[drawn].mean(axis=1), wholes[drawn].mean(axis=1)
            ratios.append(above[below > 0] / below[below > 0])
        return self._interval(exact_mean(parts) / whole, ratios)

    def _draws(self, name: str, count: int) -> Iterator[NDArray[np.int64]]:
        """Yield resampled indices, (rows, size), in batches of bounded memory."""
        rng = stream(self.seed, "bootstrap", name)
        size = count if self.independent_episodes is None else min(count, self.independent_episodes)
        rows = max(1, _DRAWS_AT_ONCE // size)
        for start in range(0, self.resamples, rows):
            yield rng.integers(count, size=(min(rows, self.resamples - start), size))

    def _interval(self, centre: float, parts: list[Floats], tail: float | None = None) -> Estimate:
        tail = (1 - self.confidence) / 2 if tail is None else tail
        low, high = np.quantile(np.concatenate(parts), [tail, 1 - tail])
        return Estimate(centre, float(low), float(high))


def _expanded_tail(tail: float, count: int) -> float:
    """Smaller tail probability, which widens the interval of a bootstrap of only `count` values."""
    if count < 2:
        return tail
    from scipy.special import ndtr, stdtrit

    return float(ndtr(-math.sqrt(count / (count - 1)) * stdtrit(count - 1, 1 - tail)))


def checked(values: Floats) -> Floats:
    """Convert to an array; raise `UsageError` if it is empty or has a value that is not finite."""
    sample = np.asarray(values, dtype=np.float64)
    if not sample.size:
        raise UsageError("there are no episodes to estimate from", "play at least one")
    if not np.isfinite(sample).all():
        raise UsageError(f"{sample[~np.isfinite(sample)][0]} is not a valid reward", "rewards must be finite numbers")
    return sample
