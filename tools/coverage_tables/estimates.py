"""Coverage of the intervals of sweeps, evaluations and sweeps that stop at a target, on known distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from mayavi.numerics.streams import stream
from mayavi.scenarios.sweep.until import CONFIDENCE_AT_LOOKS, TargetStatus, parse_target, relative_width
from mayavi.statistics.bootstrap import Bootstrap, improvement, interquartile_mean
from mayavi.statistics.estimate import Estimate
from mayavi.statistics.means import mean_distances, mean_of
from mayavi.statistics.proportions import estimate_share
from mayavi.statistics.quantiles import AT_RISK, lower_rank, quantile_of_sorted, quantile_ranks
from mayavi.statistics.summary import QUANTILES

from .cells import Coverage, coverage, coverage_of_bounds, row, shown

Floats = NDArray[np.float64]
EXPERIMENTS = 2_000
COUNTS = (6, 20, 59, 100, 1_000)
STATISTICS = ("p5", "p50", "p95", "probability_above_zero", "mean", "expected_shortfall")

_NORMAL = NormalDist()
_Q95 = _NORMAL.inv_cdf(0.95)
_ROOT_E = math.exp(0.5)


@dataclass(frozen=True)
class Distribution:
    """Distribution with known statistics."""

    name: str
    draw: Callable[[np.random.Generator, int | tuple[int, int]], Floats]
    truth: dict[str, float]


def _mostly_zero(rng: np.random.Generator, count: int | tuple[int, int], zeros: float = 0.9) -> Floats:
    return np.where(rng.random(count) < zeros, 0.0, np.exp(rng.standard_normal(count)))


def _middle_half(low: float, high: float) -> float:
    """Mean of the middle half of the lognormal distribution."""
    return 2 * _ROOT_E * (_NORMAL.cdf(high - 1) - _NORMAL.cdf(low - 1))


_QUARTER = _NORMAL.inv_cdf(0.75)
NORMAL = Distribution(
    "normal",
    lambda rng, count: rng.standard_normal(count),
    {
        "p5": -_Q95,
        "p50": 0.0,
        "p95": _Q95,
        "probability_above_zero": 0.5,
        "mean": 0.0,
        "expected_shortfall": _NORMAL.pdf(_Q95) / 0.05,
        "interquartile_mean": 0.0,
    },
)
LOGNORMAL = Distribution(
    "lognormal, σ = 1",
    lambda rng, count: np.exp(rng.standard_normal(count)),
    {
        "p5": math.exp(-_Q95),
        "p50": 1.0,
        "p95": math.exp(_Q95),
        "probability_above_zero": 1.0,
        "mean": _ROOT_E,
        "expected_shortfall": _ROOT_E * _NORMAL.cdf(1 - _Q95) / 0.05,
        "interquartile_mean": _middle_half(-_QUARTER, _QUARTER),
    },
)
MOSTLY_ZERO = Distribution(
    "90 % zeros, else lognormal",
    _mostly_zero,
    {
        "p5": 0.0,
        "p50": 0.0,
        "p95": 1.0,
        "probability_above_zero": 0.1,
        "mean": 0.1 * _ROOT_E,
        "expected_shortfall": _ROOT_E * _NORMAL.cdf(1) / 0.5,
        "interquartile_mean": 0.0,
    },
)
HEAVY = Distribution("lognormal, σ = 2", lambda rng, n: np.exp(2 * rng.standard_normal(n)), {"mean": math.exp(2)})
RARE = Distribution("98 % zeros, else lognormal", lambda rng, n: _mostly_zero(rng, n, 0.98), {"mean": 0.02 * _ROOT_E})
DISTRIBUTIONS = (NORMAL, LOGNORMAL, MOSTLY_ZERO)
"""The distributions of the coverage tests."""


def samples(distribution: Distribution, count: int, experiments: int) -> Iterator[Floats]:
    """Yield the samples of a cell."""
    rng = stream(14, "coverage", distribution.name, str(count))
    for _ in range(experiments):
        yield distribution.draw(rng, count)


def summary_coverage(
    distribution: Distribution, count: int, experiments: int = EXPERIMENTS, names: tuple[str, ...] = STATISTICS
) -> dict[str, Coverage]:
    """Coverage of every interval of a sweep's summary of `count` runs, by statistic."""
    found = summary_bounds(np.stack(list(samples(distribution, count, experiments))), names)
    return {name: coverage_of_bounds(*each, distribution.truth[name]) for name, each in found.items()}


def summary_bounds(outcomes: Floats, names: tuple[str, ...] = STATISTICS) -> dict[str, tuple[Floats, Floats]]:
    """Bounds of the estimates of (experiments, runs), NaN where there is none: `summarise`, vectorised."""
    ordered, found = np.sort(outcomes, axis=1), {}
    count = ordered.shape[1]
    for name in names:
        if name == "mean":
            found[name] = mean_bounds(ordered)
        elif name == "expected_shortfall":
            at_risk = ordered[:, math.ceil(round(count * AT_RISK, 9)) - 1, None]
            low, high = mean_bounds(at_risk + np.maximum(ordered - at_risk, 0.0) / round(1 - AT_RISK, 12))
            rank = lower_rank(count, AT_RISK)
            found[name] = np.where(np.isnan(high), _ranked(ordered, rank), low), high
        elif name == "probability_above_zero":
            above, at = np.unique((ordered > 0).sum(axis=1), return_inverse=True)
            shares = [estimate_share(each, count) for each in above.tolist()]
            bounds = np.array([(each.low, each.high) for each in shares], dtype=np.float64)[at]
            found[name] = bounds[:, 0], bounds[:, 1]
        else:
            ranks = quantile_ranks(count, QUANTILES[name])
            found[name] = _ranked(ordered, ranks[0]), _ranked(ordered, ranks[1])
    return found


def _ranked(ordered: Floats, rank: int | None) -> Floats:
    """Outcomes of a rank, from 1, of each sample; NaN without a rank."""
    return np.full(len(ordered), np.nan) if rank is None else ordered[:, rank - 1]


def mean_bounds(values: Floats, independent: int | None = None) -> tuple[Floats, Floats]:
    """Bounds of the mean of each sample, (experiments, runs), NaN where none is shown: `mean_of`, vectorised."""
    below, above = mean_distances(values, independent=independent)
    centre = values.mean(axis=1)
    low = np.where(values.min(axis=1) >= 0, np.maximum(centre - below, 0.0), centre - below)
    return low, np.where(values.max(axis=1) <= 0, np.minimum(centre + above, 0.0), centre + above)


def interquartile_coverage(distribution: Distribution, count: int, experiments: int = EXPERIMENTS) -> Coverage:
    """Coverage of the interquartile mean of `count` episodes."""
    found = [
        Bootstrap(at, resamples=400).estimate(each, interquartile_mean)
        for at, each in enumerate(samples(distribution, count, experiments))
    ]
    return coverage(found, distribution.truth["interquartile_mean"])


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
    rng = stream(14, "ratio", str(count))
    found = []
    for _ in range(experiments):
        wholes = np.exp(rng.standard_normal(count))
        estimate = Bootstrap().estimate_ratio(wholes * rng.uniform(0.2, 1.0, count), wholes)
        assert estimate is not None
        found.append(estimate)
    return coverage(found, 0.6)


def pooled_coverage(
    trainings: int, count: int, training_spread: float, experiments: int = EXPERIMENTS, *, interquartile: bool = False
) -> Coverage:
    """Coverage of pooled trainings: a normal effect of each training, a skewed one of each episode, and noise."""
    rng = stream(14, "pooled", str(trainings), str(count), str(training_spread))
    truth = LOGNORMAL.truth["mean"] if not interquartile else 0.0
    found = []
    for at in range(experiments):
        effects = training_spread * rng.standard_normal((trainings, 1))
        episodes = rng.standard_normal(count) if interquartile else LOGNORMAL.draw(rng, count)
        values = effects + episodes + 0.3 * rng.standard_normal((trainings, count))
        bootstrap = Bootstrap(at, resamples=400)
        found.append(
            bootstrap.estimate_pooled(values, interquartile_mean)
            if interquartile
            else bootstrap.estimate_pooled(values)
        )
    return coverage(found, truth)


def windows_coverage(independent: int, overlap: int, experiments: int) -> Coverage:
    """Coverage of the mean over windows of one history that overlap: only `independent` fit side by side."""
    rng = stream(14, "windows", str(independent), str(overlap))
    parts = LOGNORMAL.draw(rng, (experiments, independent * overlap))
    rewards = sliding_window_view(parts, overlap, axis=1).sum(axis=2)
    return coverage_of_bounds(*mean_bounds(rewards, independent), overlap * LOGNORMAL.truth["mean"])


def stopping_coverage(
    distribution: Distribution, target: str, experiments: int, *, most: int = 10_000
) -> tuple[Coverage, float]:
    """Return the coverage of sweeps `--until target` when they stop, and their median number of runs."""
    wanted = parse_target(target)

    def look(outcomes: Floats) -> Estimate:
        if wanted.statistic == "mean":
            return mean_of(outcomes, CONFIDENCE_AT_LOOKS)
        return quantile_of_sorted(np.sort(outcomes), QUANTILES[wanted.statistic], CONFIDENCE_AT_LOOKS)

    rng = stream(14, "until", distribution.name, target)
    found, runs = [], []
    for _ in range(experiments):
        outcomes, count = distribution.draw(rng, most), 100
        while True:
            estimate = look(outcomes[:count])
            status = TargetStatus(wanted, count, most, estimate, relative_width(estimate), constant=False)
            if status.reached or count >= most:
                break
            count = status.next_runs()
        if status.reached:
            found.append(estimate)
            runs.append(count)
    covered = coverage(found, distribution.truth[wanted.statistic]) if found else Coverage(math.nan, 0, 0, 0)
    return covered, float(np.median(runs)) if runs else math.nan


def summary_row(distribution: Distribution, count: int) -> str:
    """Line of the table of sweeps."""
    found = summary_coverage(distribution, count)
    return row(distribution.name, f"{count:,}", *(shown(found[name]) for name in STATISTICS))


def summary_table() -> list[str]:
    """Table of the intervals of a sweep."""
    lines = [row("figure", "runs", "p5", "p50", "p95", "P(> 0)", "mean", "ES"), row(*["---"] * 8)]
    return lines + [summary_row(each, count) for each in DISTRIBUTIONS for count in COUNTS]


def limits_table() -> list[str]:
    """Table of means that the method does not cover."""
    lines = [row("figure", *(f"{count:,} runs" for count in COUNTS[1:])), row(*["---"] * 5)]
    for each in (HEAVY, RARE):
        cells = [summary_coverage(each, count, names=("mean",))["mean"] for count in COUNTS[1:]]
        lines.append(row(f"mean, {each.name}", *(shown(cell) for cell in cells)))
    return lines


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


def stopping_table() -> list[str]:
    """Table of sweeps that stop at a target."""
    lines = [row("target", "figure", "covered at the stop", "median runs"), row(*["---"] * 4)]
    for target, distribution in (
        ("VaR ±20%", LOGNORMAL),
        ("VaR ±10%", LOGNORMAL),
        ("VaR ±20%", MOSTLY_ZERO),
        ("mean(bad_debt) ±20%", LOGNORMAL),
        ("mean(bad_debt) ±10%", LOGNORMAL),
        ("mean(bad_debt) ±20%", MOSTLY_ZERO),
        ("VaR ±10%", NORMAL),
    ):
        covered, runs = stopping_coverage(distribution, target, 1_000)
        lines.append(row(target, distribution.name, shown(covered), f"{runs:,.0f}"))
    return lines
