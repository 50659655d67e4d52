"""Coverage of the intervals of backtests, on returns whose figures are known; tables of `docs/concepts/intervals.md`.

Simulated backtests: episodes are drawn from a pool of 50,000, so that the truth is exactly the pool's. Historical ones:
hourly returns of a known process. All experiments of a cell are computed side by side, with the functions that the
intervals of one backtest are computed with; `tests/statistics/test_coverage_twins.py` compares both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mayavi.numerics.streams import stream
from mayavi.portfolio.backtest.history import historical_terms
from mayavi.portfolio.backtest.metrics import HOURS_A_YEAR, METRICS, hourly_rate, loss_tail, portfolio_metrics, ratio
from mayavi.statistics.block_means import block_distances, block_terms
from mayavi.statistics.estimate import CONFIDENCE
from mayavi.statistics.means import mean_distances

from .cells import Coverage, coverage_of_bounds, row, shown
from .processes import BEYOND, BLOCK, CLUSTERS, DRIFTS, HEAVY_TAILED, PROCESSES, TRENDS, Process

Floats = NDArray[np.float64]

RATE, DRIFT, DEVIATION = 4.0, 1e-4, 6e-3
"""Risk-free rate in percent a year; mean and deviation of hourly log returns."""
EPISODE_HOURS, POOL = 48, 50_000
TRADES = 0.1
"""Share of hours with a trade; amounts are lognormal."""
EXPERIMENTS = 2_000
_HOURS_AT_ONCE = 1_000_000
_HOURS_OF_TRUTH = 2_000_000

DIFFERENCES = ("difference of log growth", "difference of Sharpe")
MEASURED = ("log_growth", "sharpe", "sortino", *DIFFERENCES)
WITHHELD = ("volatility", "expected_shortfall")
"""Figures whose intervals are measured to show why there are none."""


def growth_of(noise: Floats) -> Floats:
    """Growth factors of hours."""
    return np.exp(DRIFT + DEVIATION * noise)


def values_of(growth: Floats) -> Floats:
    """Values of portfolios that start with 1, given growth factors of shape (rows, hours)."""
    return np.concatenate([np.ones((len(growth), 1)), np.cumprod(growth, axis=1)], axis=1)


def _traded(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return np.where(rng.random(shape) < TRADES, np.exp(rng.standard_normal(shape)), 0.0)


def _mixed(process: Process, rng: np.random.Generator, rows: int, hours: int) -> tuple[Floats, Floats]:
    """Growth factors of two portfolios whose returns are correlated."""
    first, second = process.noise(rng, rows, hours), process.noise(rng, rows, hours)
    return growth_of(first), growth_of(0.8 * first + 0.6 * second - 0.005)


@cache
def _mean_returns(process: Process) -> tuple[float, float]:
    """Mean excess returns of an hour of both portfolios, over a very long time."""
    rng = stream(14, "truth", process.name)
    both = _mixed(process, rng, _HOURS_AT_ONCE // 500, 500)
    drift = (DRIFT, DRIFT - 0.005 * DEVIATION)  # the mean log return is known, only its convexity is measured
    first, second = (
        mean + float((growth - 1.0 - np.log(growth)).mean()) - hourly_rate(RATE)
        for mean, growth in zip(drift, both, strict=True)
    )
    return first, second


def _downside(excess: Floats) -> Floats:
    return np.asarray(np.sqrt(np.square(np.minimum(excess, 0.0)).mean(axis=-1)))


@cache
def historical_coverage(
    process: Process, blocks: int, experiments: int, block_hours: int = BLOCK
) -> dict[str, Coverage]:
    """Coverage of every interval of a historical backtest of `blocks` blocks, by metric.

    The truth of a ratio is the true mean return over the deviation of the history, as its interval says.
    """
    hours = blocks * block_hours
    rng = stream(14, "historical", process.name, str(blocks), str(block_hours))
    means, growing = _mean_returns(process), np.array([DRIFT, DRIFT - 0.005 * DEVIATION]) * hours
    yearly = math.sqrt(HOURS_A_YEAR)
    parts: dict[str, list[tuple[Floats, Floats, Floats]]] = {name: [] for name in MEASURED}
    at_once = max(1, _HOURS_AT_ONCE // hours)
    for start in range(0, experiments, at_once):
        both = _mixed(process, rng, min(at_once, experiments - start), hours)
        terms = [historical_terms(each, RATE, blocks) for each in both]
        excess = [each - 1.0 - hourly_rate(RATE) for each in both]
        values = [{"log_growth": np.log(each).sum(axis=1)} for each in both]
        truths = [{"log_growth": np.full(len(each), growing[at])} for at, each in enumerate(both)]
        for at, each in enumerate(excess):
            for name, deviation in (("sharpe", each.std(axis=1)), ("sortino", _downside(each))):
                values[at][name] = ratio(each.mean(axis=1), deviation) * yearly
                truths[at][name] = ratio(np.full(len(each), means[at]), deviation) * yearly
        for name in ("log_growth", "sharpe", "sortino"):
            parts[name].append(_bounds(values[0][name], terms[0][name], truths[0][name]))
        for name, metric in zip(DIFFERENCES, ("log_growth", "sharpe"), strict=True):
            value, truth = (each[1][metric] - each[0][metric] for each in (values, truths))
            pair = [each[metric] for each in terms]
            parts[name].append(_bounds(value, pair[1] - pair[0], truth, pair))
    return {name: coverage_of_bounds(*map(np.concatenate, zip(*each, strict=True))) for name, each in parts.items()}


def _bounds(value: Floats, terms: Floats, truth: Floats, parts: Sequence[Floats] = ()) -> tuple[Floats, Floats, Floats]:
    below, above = block_distances(terms, parts=parts)
    return value - below, value + above, truth


@cache
def _true_risk(process: Process) -> dict[str, float]:
    """Deviation and expected shortfall of an hour of `process`, over a very long time."""
    returns = process.noise(stream(14, "risk", process.name), _HOURS_OF_TRUTH // 50, 50).ravel()
    tail = loss_tail(len(returns))
    worst = np.partition(returns, tail - 1)[:tail]
    return {"volatility": float(returns.std()), "expected_shortfall": float(-worst.mean())}


@cache
def withheld_coverage(process: Process, blocks: int, experiments: int) -> dict[str, Coverage]:
    """Coverage that intervals of risk would have if they were computed as those of growth are.

    Terms are the first-order influence of each hour on the deviation and on the expected shortfall.
    """
    rng, truth = stream(14, "withheld", process.name, str(blocks)), _true_risk(process)
    hours = blocks * BLOCK
    parts: dict[str, list[tuple[Floats, Floats]]] = {name: [] for name in WITHHELD}
    at_once = max(1, _HOURS_AT_ONCE // hours)
    for start in range(0, experiments, at_once):
        returns = process.noise(rng, min(at_once, experiments - start), hours)
        deviation = returns.std(axis=1)
        squares = np.square(returns - returns.mean(axis=1, keepdims=True)) / (2 * deviation[:, None])
        tail = loss_tail(hours)
        worst = np.partition(returns, tail - 1, axis=1)[:, :tail]
        beyond = np.maximum(worst.max(axis=1, keepdims=True) - returns, 0.0) * (hours / tail)
        for name, value, influence in (
            ("volatility", deviation, squares),
            ("expected_shortfall", -worst.mean(axis=1), beyond),
        ):
            below, above = block_distances(block_terms(influence, blocks))
            parts[name].append((value - below, value + above))
    found = {name: [np.concatenate(each) for each in zip(*bounds, strict=True)] for name, bounds in parts.items()}
    return {name: coverage_of_bounds(low, high, truth[name]) for name, (low, high) in found.items()}


@cache
def episode_pool(process: Process) -> dict[str, Floats]:
    """Metrics of many episodes, each stopped for good when it falls by 5 %, as the environment does at its limit."""
    rng = stream(14, "episodes", process.name)
    values = values_of(growth_of(process.noise(rng, POOL, EPISODE_HOURS)))
    fallen = (1.0 - values / np.maximum.accumulate(values, axis=1)) > 0.05
    stopped = np.where(fallen.any(axis=1), fallen.argmax(axis=1), EPISODE_HOURS)
    values = np.take_along_axis(values, np.minimum(np.arange(EPISODE_HOURS + 1), stopped[:, None]), axis=1)
    traded = _traded(rng, (2, POOL, EPISODE_HOURS)).sum(axis=2)
    return portfolio_metrics(values, risk_free_rate=RATE, turnover=traded[0], cost=traded[1])


def simulated_coverage(process: Process, episodes: int, experiments: int) -> dict[str, Coverage]:
    """Coverage of every interval of a simulated backtest, by metric."""
    pool, years = episode_pool(process), EPISODE_HOURS / HOURS_A_YEAR
    truth = {name: float(values.mean()) for name, values in pool.items()}
    truth["cagr"] = math.expm1(truth["log_growth"] / years)
    truth["calmar"] = truth["cagr"] / truth["max_drawdown"]
    drawn = drawn_episodes(process, episodes, experiments)
    found = simulated_bounds({name: values[drawn] for name, values in pool.items()})
    return {name: coverage_of_bounds(*each, truth[name]) for name, each in found.items()}


def drawn_episodes(process: Process, episodes: int, experiments: int) -> NDArray[np.int64]:
    """Episodes of each experiment: places in the pool, (experiments, episodes)."""
    rng = stream(14, "simulated", process.name, str(episodes))
    return rng.integers(POOL, size=(experiments, episodes))


def simulated_bounds(metrics: dict[str, Floats]) -> dict[str, tuple[Floats, Floats]]:
    """Bounds of all metrics of (experiments, episodes), NaN where none is shown: `simulated_figures`, vectorised."""
    years, half = EPISODE_HOURS / HOURS_A_YEAR, (1 + CONFIDENCE) / 2

    def bounds(name: str, confidence: float = CONFIDENCE) -> tuple[Floats, Floats]:
        values = metrics[name]
        below, above = mean_distances(values, confidence)
        low, high = values.mean(axis=1) - below, values.mean(axis=1) + above
        low = np.where(values.min(axis=1) >= 0, np.maximum(low, 0.0), low)
        return low, np.where(values.max(axis=1) <= 0, np.minimum(high, 0.0), high)

    def rate(bound: Floats) -> Floats:
        return np.expm1(np.minimum(bound / years, 700.0))

    found = {name: bounds(name) for name in METRICS}
    found["cagr"] = rate(found["log_growth"][0]), rate(found["log_growth"][1])
    low, high = (rate(each) for each in bounds("log_growth", half))
    shallow, deep = bounds("max_drawdown", half)
    hidden = np.isnan(low) | ~(shallow > 0)
    low, high = ratio(low, np.where(low > 0, deep, shallow)), ratio(high, np.where(high > 0, shallow, deep))
    found["calmar"] = np.where(hidden, np.nan, low), np.where(hidden, np.nan, high)
    return found


def simulated_table() -> list[str]:
    """Table of simulated backtests."""
    counts = (20, 59, 100, 1_000)
    lines = [row("metric", *(f"{count:,} episodes" for count in counts)), row(*["---"] * (len(counts) + 1))]
    cells = [simulated_coverage(HEAVY_TAILED, count, EXPERIMENTS) for count in counts]
    return lines + [row(f"`{name}`", *(shown(cell[name]) for cell in cells)) for name in METRICS]


def historical_row(process: Process, blocks: int, block_hours: int = BLOCK) -> str:
    """Line of the table of historical backtests."""
    found = historical_coverage(process, blocks, EXPERIMENTS, block_hours)
    return row(process.name, f"{blocks} of {block_hours} hours", *(shown(found[name]) for name in MEASURED))


def historical_table() -> list[str]:
    """Table of historical backtests."""
    titles = [name if name in DIFFERENCES else f"`{name}`" for name in MEASURED]
    lines = [row("hourly returns", "blocks", *titles), row(*["---"] * (len(titles) + 2))]
    lines += [historical_row(each, blocks) for each in (*PROCESSES, *BEYOND) for blocks in (20, 52)]
    lines += [historical_row(each, 208) for each in (TRENDS[-1], CLUSTERS[-1], DRIFTS[-1])]
    return lines + [historical_row(each, 26, 168) for each in PROCESSES[2:]]


def withheld_table() -> list[str]:
    """Table of the intervals of risk that are not shown."""
    lines = [row("hourly returns", "blocks", *(f"`{name}`" for name in WITHHELD)), row(*["---"] * (len(WITHHELD) + 2))]
    for process in (PROCESSES[0], *CLUSTERS):
        for blocks in (20, 52, 208):
            found = withheld_coverage(process, blocks, EXPERIMENTS)
            lines.append(row(process.name, f"{blocks} of {BLOCK} hours", *(shown(found[name]) for name in WITHHELD)))
    return lines
