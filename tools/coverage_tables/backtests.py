"""Coverage of the intervals of backtests, on returns whose figures are known; tables of `docs/concepts/intervals.md`.

Simulated backtests: episodes are drawn from a pool of 50,000, so that the truth is exactly the pool's. Historical ones:
hourly returns of a known process, whose figures are those of two million hours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mayavi.numerics.streams import stream
from mayavi.portfolio.backtest.backtest import simulated_figures
from mayavi.portfolio.backtest.history import WITHOUT_INTERVAL, historical_figures
from mayavi.portfolio.backtest.metrics import HOURS_A_YEAR, METRICS, portfolio_metrics
from mayavi.statistics.block_jackknife import estimate_over_blocks
from mayavi.statistics.bootstrap import Bootstrap
from mayavi.statistics.estimate import Estimate

from .cells import Coverage, coverage, row, shown

Floats = NDArray[np.float64]

RATE, DRIFT, DEVIATION = 4.0, 1e-4, 6e-3
"""Risk-free rate in percent a year; mean and deviation of hourly log returns."""
EPISODE_HOURS, POOL = 48, 50_000
TRADES, MEAN_TRADE = 0.1, 0.1 * math.exp(0.5)
"""Share of hours with a trade, and the mean amount of an hour: trades are lognormal."""
_WARM_UP = 400
_HOURS_OF_TRUTH = 2_000_000

Noise = Callable[[np.random.Generator, int, int], Floats]


@dataclass(frozen=True)
class Process:
    """Hourly returns with a mean of zero and a deviation of one."""

    name: str
    noise: Noise


def _filtered(noise: Floats, memory: float) -> Floats:
    """First-order autoregression along the last axis, with a deviation of one."""
    levels, last = np.empty_like(noise), noise[:, 0]
    scale = math.sqrt(1 - memory**2)
    for hour in range(noise.shape[1]):
        last = memory * last + scale * noise[:, hour]
        levels[:, hour] = last
    return levels


def _autocorrelated(memory: float) -> Noise:
    def noise(rng: np.random.Generator, rows: int, hours: int) -> Floats:
        return _filtered(rng.standard_normal((rows, hours + _WARM_UP)), memory)[:, _WARM_UP:]

    return noise


def _clustered(memory: float, spread: float = 0.6) -> Noise:
    """Stochastic volatility: its logarithm is a first-order autoregression."""

    def noise(rng: np.random.Generator, rows: int, hours: int) -> Floats:
        logarithm = spread * _filtered(rng.standard_normal((rows, hours + _WARM_UP)), memory)[:, _WARM_UP:]
        return rng.standard_normal((rows, hours)) * np.exp(logarithm - spread**2)

    return noise


INDEPENDENT = Process("independent, normal", lambda rng, rows, hours: rng.standard_normal((rows, hours)))
HEAVY_TAILED = Process(
    "independent, Student's t with 5 degrees",
    lambda rng, rows, hours: rng.standard_t(5, (rows, hours)) / math.sqrt(5 / 3),
)
CORRELATED = Process("autocorrelation 0.5", _autocorrelated(0.5))
CLUSTERED = Process("clustered volatility, half-life 7 hours", _clustered(0.9))
LONG_TREND = Process("autocorrelation 0.95: longer than a block", _autocorrelated(0.95))
LONG_CLUSTERS = Process("clustered volatility, half-life 69 hours: longer than a block", _clustered(0.99))
PROCESSES = (INDEPENDENT, HEAVY_TAILED, CORRELATED, CLUSTERED)
"""Processes whose memory is shorter than a block."""
BEYOND = (LONG_TREND, LONG_CLUSTERS)
"""Processes whose memory is longer than a block: what no interval knows."""

DIFFERENCES = ("difference of log growth", "difference of Sharpe")
MEASURED = (*(name for name in METRICS if name not in WITHOUT_INTERVAL), *DIFFERENCES)


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
def _truth(process: Process) -> tuple[dict[str, float], dict[str, float]]:
    """Figures of both portfolios over a very long time; log growth is that of an hour."""
    rng = stream(14, "truth", process.name)
    hours = 50_000
    found = []
    for growth in _mixed(process, rng, _HOURS_OF_TRUTH // hours, hours):
        metrics = portfolio_metrics(values_of(growth), risk_free_rate=RATE)
        returns = growth - 1.0
        excess, deviation = returns.mean() - math.expm1(math.log1p(RATE / 100) / HOURS_A_YEAR), returns.std()
        figures = {name: float(metrics[name].mean()) for name in ("value_at_risk", "expected_shortfall")}
        short = np.minimum(returns - math.expm1(math.log1p(RATE / 100) / HOURS_A_YEAR), 0.0)
        yearly = math.sqrt(HOURS_A_YEAR)
        figures |= {"volatility": float(deviation) * yearly, "sharpe": float(excess / deviation) * yearly}
        figures["sortino"] = float(excess / np.sqrt(np.square(short).mean())) * yearly
        found.append(figures)
    drift = (DRIFT, DRIFT - 0.005 * DEVIATION)  # exact
    for figures, each in zip(found, drift, strict=True):
        figures |= {"log_growth": each, "turnover": MEAN_TRADE, "cost": MEAN_TRADE}
        figures["cagr"] = math.expm1(each * HOURS_A_YEAR)
    return found[0], found[1]


def historical_coverage(process: Process, blocks: int, experiments: int, block_hours: int = 24) -> dict[str, Coverage]:
    """Coverage of every interval of a historical backtest of `blocks` blocks, by metric."""
    hours, bootstrap = blocks * block_hours, Bootstrap()
    rng = stream(14, "historical", process.name, str(blocks), str(block_hours))
    first, second = _truth(process)
    truth = {name: each * (hours if name in ("log_growth", "turnover", "cost") else 1) for name, each in first.items()}
    truth["total_return"] = math.expm1(truth["log_growth"])
    truth[DIFFERENCES[0]] = (second["log_growth"] - first["log_growth"]) * hours
    truth[DIFFERENCES[1]] = second["sharpe"] - first["sharpe"]
    found: dict[str, list[Estimate]] = {name: [] for name in MEASURED}
    for _ in range(experiments):
        both = _mixed(process, rng, 1, hours)
        traded = _traded(rng, (2, hours))
        (figures, terms), (others, other_terms) = (
            historical_figures((growth[0], traded[0], traded[1]), RATE, block_hours, bootstrap) for growth in both
        )
        for name, metric in zip(DIFFERENCES, ("log_growth", "sharpe"), strict=True):
            value = others[metric].value - figures[metric].value
            found[name].append(estimate_over_blocks(value, other_terms[metric] - terms[metric], bootstrap))
        for name in MEASURED[: -len(DIFFERENCES)]:
            found[name].append(figures[name])
    return {name: coverage(each, truth[name]) for name, each in found.items()}


@cache
def _pool(process: Process) -> dict[str, Floats]:
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
    pool, years, bootstrap = _pool(process), EPISODE_HOURS / HOURS_A_YEAR, Bootstrap()
    truth = {name: float(values.mean()) for name, values in pool.items()}
    truth["cagr"] = math.expm1(truth["log_growth"] / years)
    truth["calmar"] = truth["cagr"] / truth["max_drawdown"]
    rng = stream(14, "simulated", process.name, str(episodes))
    found: dict[str, list[Estimate]] = {name: [] for name in METRICS}
    for _ in range(experiments):
        drawn = rng.integers(POOL, size=episodes)
        figures = simulated_figures({name: values[drawn] for name, values in pool.items()}, years, bootstrap)
        for name, each in figures.items():
            found[name].append(each)
    return {name: coverage(each, truth[name]) for name, each in found.items()}


def simulated_table() -> list[str]:
    """Table of simulated backtests."""
    counts = (20, 59, 100, 1_000)
    lines = [row("metric", *(f"{count:,} episodes" for count in counts)), row(*["---"] * (len(counts) + 1))]
    cells = [simulated_coverage(HEAVY_TAILED, count, 2_000) for count in counts]
    return lines + [row(f"`{name}`", *(shown(cell[name]) for cell in cells)) for name in METRICS]


TITLED = tuple(name for name in MEASURED if name not in {"total_return", "cagr", "cost"})
"""Columns of the table: the others are covered as `log_growth` and `turnover` are."""


def historical_row(process: Process, blocks: int, block_hours: int) -> str:
    """Line of the table of historical backtests."""
    found = historical_coverage(process, blocks, 1_000 if block_hours == 168 else 2_000, block_hours)
    return row(process.name, f"{blocks} of {block_hours} hours", *(shown(found[name]) for name in TITLED))


def historical_table() -> list[str]:
    """Table of historical backtests."""
    titles = [name if name in DIFFERENCES else f"`{name}`" for name in TITLED]
    lines = [row("hourly returns", "blocks", *titles), row(*["---"] * (len(titles) + 2))]
    lines += [historical_row(each, blocks, 24) for each in PROCESSES for blocks in (20, 52)]
    lines += [historical_row(each, 26, 168) for each in (CORRELATED, CLUSTERED)]
    return lines + [historical_row(each, 52, 24) for each in BEYOND]
