"""Coverage of the intervals of evaluations, on known distributions.

All experiments of a cell are computed side by side; `tests/statistics/test_coverage_twins.py` compares their intervals
with those of single evaluations.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from mayavi.numerics.streams import stream, streams
from mayavi.statistics.bootstrap import Bootstrap, expanded_tail, improvement, interquartile_mean
from mayavi.statistics.distributions import student_t_quantile
from mayavi.statistics.estimate import CONFIDENCE, Estimate
from mayavi.statistics.means import mean_distances

from .cells import Coverage, coverage, coverage_of_bounds, row, shown
from .estimates import COUNTS, DISTRIBUTIONS, EXPERIMENTS, LOGNORMAL, Distribution, mean_bounds, samples

Floats = NDArray[np.float64]
RESAMPLES = 400
_TAIL = (1 - CONFIDENCE) / 2


def interquartile_coverage(distribution: Distribution, count: int, experiments: int = EXPERIMENTS) -> Coverage:
    """Coverage of the interquartile mean of `count` episodes."""
    found = interquartile_bounds(np.stack(list(samples(distribution, count, experiments))))
    return coverage_of_bounds(*found, distribution.truth["interquartile_mean"])


def interquartile_bounds(values: Floats) -> tuple[Floats, Floats]:
    """Bounds of the interquartile mean of (experiments, episodes), NaN where none is shown.

    Vectorised `Bootstrap(at, RESAMPLES).estimate`, where `at` is the place of the experiment.
    """
    experiments, count = values.shape
    middle = slice(count // 4, count - count // 4)
    resampled = np.empty((experiments, RESAMPLES))
    for at, rng in enumerate(streams(range(experiments), "bootstrap", "episodes")):
        drawn = values[at][rng.integers(count, size=(RESAMPLES, count))]
        drawn.sort(axis=1)  # faster than a partition
        resampled[at] = drawn[:, middle].mean(axis=1)
    tail = expanded_tail(_TAIL, count)
    low, high = np.quantile(resampled, [tail, 1 - tail], axis=1)
    equal = (values == values[:, :1]).all(axis=1)
    return np.where(equal, np.nan, low), np.where(equal, np.nan, high)


def improvement_coverage(count: int, experiments: int = EXPERIMENTS) -> Coverage:
    """Coverage of the probability of improvement: 55 % wins, 30 % ties."""
    rng = stream(14, "improvement", str(count))
    outcomes = rng.choice([1.0, 0.0, -1.0], (experiments, count), p=[0.55, 0.3, 0.15])
    known: dict[float, Estimate] = {}
    for sample, share in zip(outcomes, improvement(outcomes).tolist(), strict=True):
        if share not in known:
            known[share] = Bootstrap().estimate(sample, improvement)
    return coverage([known[share] for share in improvement(outcomes).tolist()], 0.7)


def ratio_coverage(count: int, experiments: int = EXPERIMENTS) -> Coverage:
    """Coverage of a ratio of means whose parts and wholes are both lognormal."""
    return coverage_of_bounds(*ratio_bounds(*ratio_samples(count, experiments)), 0.6)


def ratio_samples(count: int, experiments: int) -> tuple[Floats, Floats]:
    """Parts and wholes, each (experiments, episodes)."""
    rng = stream(14, "ratio", str(count))
    parts, wholes = np.empty((2, experiments, count))
    for part, whole in zip(parts, wholes, strict=True):
        whole[:] = np.exp(rng.standard_normal(count))
        part[:] = whole * rng.uniform(0.2, 1.0, count)
    return parts, wholes


def ratio_bounds(parts: Floats, wholes: Floats) -> tuple[Floats, Floats]:
    """Bounds of ratios of means, NaN where none is shown: `Bootstrap.estimate_ratio`, vectorised.

    No part is negative or above its whole.
    """
    whole = wholes.mean(axis=1, keepdims=True)
    ratio = parts.mean(axis=1, keepdims=True) / whole
    weights = np.maximum(0.1, 1 - wholes / wholes.sum(axis=1, keepdims=True)) ** -2
    below, above = mean_distances((parts - ratio * wholes) / whole * weights)
    return np.maximum(0.0, ratio[:, 0] - below), np.minimum(1.0, ratio[:, 0] + above)


def pooled_coverage(
    trainings: int, count: int, training_spread: float, experiments: int = EXPERIMENTS, *, interquartile: bool = False
) -> Coverage:
    """Coverage of pooled trainings: a normal effect of each training, a skewed one of each episode, and noise.

    The interquartile mean is that of normal episodes.
    """
    truth = LOGNORMAL.truth["mean"] if not interquartile else 0.0
    values = pooled_samples(trainings, count, training_spread, experiments, skewed=not interquartile)
    return coverage_of_bounds(*pooled_bounds(values, interquartile=interquartile), truth)


def pooled_samples(trainings: int, count: int, training_spread: float, experiments: int, *, skewed: bool) -> Floats:
    """Rewards, (experiments, trainings, episodes)."""
    rng = stream(14, "pooled", str(trainings), str(count), str(training_spread))
    values = np.empty((experiments, trainings, count))
    for each in values:
        effects = training_spread * rng.standard_normal((trainings, 1))
        episodes = LOGNORMAL.draw(rng, count) if skewed else rng.standard_normal(count)
        each[:] = effects + episodes + 0.3 * rng.standard_normal((trainings, count))
    return values


def pooled_bounds(values: Floats, *, interquartile: bool) -> tuple[Floats, Floats]:
    """Bounds of pooled trainings, NaN where none is shown: `Bootstrap.estimate_pooled`, vectorised."""
    trainings, over_trainings = values.shape[1], values.mean(axis=1)
    if interquartile:
        low, high = interquartile_bounds(over_trainings)
        centre, by_training = interquartile_mean(over_trainings), interquartile_mean(values)
    else:
        low, high = mean_bounds(over_trainings)
        centre, by_training = over_trainings.mean(axis=1), values.mean(axis=2)
    student = student_t_quantile(1 - _TAIL, trainings - 1)
    spread = student * by_training.std(axis=1, ddof=1) / math.sqrt(trainings)
    return centre - np.hypot(spread, centre - low), centre + np.hypot(spread, high - centre)


def windows_coverage(independent: int, overlap: int, experiments: int) -> Coverage:
    """Coverage of the mean over windows of one history that overlap: only `independent` fit side by side."""
    rng = stream(14, "windows", str(independent), str(overlap))
    parts = LOGNORMAL.draw(rng, (experiments, independent * overlap))
    rewards = sliding_window_view(parts, overlap, axis=1).sum(axis=2)
    return coverage_of_bounds(*mean_bounds(rewards, independent), overlap * LOGNORMAL.truth["mean"])


def evaluation_table() -> list[str]:
    """Table of the intervals of evaluations and simulated backtests."""
    lines = [row("interval", *(f"{count:,} episodes" for count in COUNTS)), row(*["---"] * 6)]
    numbers = {count: 500 if count < 1_000 else 100 for count in COUNTS}
    for each in DISTRIBUTIONS:
        cells = [shown(interquartile_coverage(each, count, number)) for count, number in numbers.items()]
        lines.append(row(f"interquartile mean, {each.name}", *cells))
    cells = [shown(improvement_coverage(count)) for count in COUNTS]
    lines.append(row("probability of improvement, 30 % ties", *cells))
    lines.append(row("ratio of means, lognormal", *(shown(ratio_coverage(count)) for count in COUNTS)))
    for trainings in (2, 5):
        for spread in (0.1, 1.0):
            cells = [shown(pooled_coverage(trainings, count, spread, 500)) for count in COUNTS]
            lines.append(row(f"mean of {trainings} trainings that differ by {spread:g}, lognormal episodes", *cells))
    for overlap in (2, 8):
        cells = [shown(windows_coverage(count, overlap, EXPERIMENTS)) for count in COUNTS]
        lines.append(row(f"mean over windows of one history, each hour in {overlap}; so many side by side", *cells))
    cells = [shown(pooled_coverage(5, count, 0.3, number, interquartile=True)) for count, number in numbers.items()]
    lines.append(row("interquartile mean of 5 trainings, normal episodes", *cells))
    return lines
