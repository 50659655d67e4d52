"""Coverage of the intervals of sweeps and of sweeps that stop at a target, on known distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from mayavi.numerics.streams import stream
from mayavi.scenarios.sweep.until import CONFIDENCE_AT_LOOKS, TargetStatus, parse_target, relative_width
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
