"""Figures of a portfolio in one history, with confidence intervals over blocks of hours.

Growth is a mean over hours, and so are the Sharpe and the Sortino ratio at the volatility of this history. Risk has no
interval: calm and stormy times last for weeks, and a history that had no storm cannot say how bad one would be.
docs/concepts/intervals.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mayavi.portfolio.backtest.metrics import HOURS_A_YEAR, METRICS, Floats, hourly_rate, portfolio_metrics, ratio
from mayavi.statistics.block_means import block_count, block_terms, estimate_over_blocks
from mayavi.statistics.estimate import CONFIDENCE, Estimate

WITH_INTERVAL = ("total_return", "log_growth", "cagr", "sharpe", "sortino")
WITHOUT_INTERVAL = tuple(name for name in METRICS if name not in WITH_INTERVAL)
"""Metrics of one history that have no interval, however long it is."""
NO_INTERVAL = (
    "one history has one largest drawdown, so calmar, max_drawdown and time_in_drawdown have no interval",
    "calm and stormy times outlast any block, so volatility, value_at_risk, expected_shortfall, turnover and cost have "
    "no interval either: simulate for those",
)
AT_THIS_VOLATILITY = "intervals of sharpe and sortino are those of the mean return, at the volatility of this history"

Hourly = tuple[Floats, Floats, Floats]
"""Growth factors, turnover and costs of each hour, all of shape (hours,)."""


def historical_figures(
    hourly: Hourly, risk_free_rate: float, block_hours: int, confidence: float = CONFIDENCE
) -> tuple[dict[str, Estimate], dict[str, Floats]]:
    """Estimate all `METRICS` of one history, and return the terms of its blocks, for paired differences."""
    growth, turnover, cost = hourly
    hours = len(growth)
    values = np.concatenate([[1.0], np.cumprod(growth)])[None]
    whole = portfolio_metrics(
        values, risk_free_rate=risk_free_rate, turnover=turnover.sum()[None], cost=cost.sum()[None]
    )
    terms = historical_terms(growth, risk_free_rate, block_count(hours, block_hours))
    figures = {name: Estimate(float(whole[name][0]), None, None) for name in METRICS}
    for name, each in terms.items():
        figures[name] = estimate_over_blocks(figures[name].value, each, confidence)
    growing = figures["log_growth"]
    figures["total_return"] = transformed(growing, lambda growth: np.expm1(min(growth, 700.0)))
    figures["cagr"] = annualised(growing, hours / HOURS_A_YEAR)
    return figures, terms


def historical_terms(growth: Floats, risk_free_rate: float, blocks: int) -> dict[str, Floats]:
    """Contribution of each block to log growth, Sharpe and Sortino ratio, given growth factors of shape (..., hours).

    The ratios are linear in the returns, because the deviation of all hours is taken as it is.
    """
    hours, yearly = growth.shape[-1], np.sqrt(HOURS_A_YEAR)
    excess = growth - 1.0 - hourly_rate(risk_free_rate)
    deviation = excess.std(axis=-1, keepdims=True)
    downside = np.sqrt(np.square(np.minimum(excess, 0.0)).mean(axis=-1, keepdims=True))
    means = block_terms(excess, blocks)
    return {
        "log_growth": hours * block_terms(np.log(growth), blocks),
        "sharpe": ratio(means, np.broadcast_to(deviation, means.shape)) * yearly,
        "sortino": ratio(means, np.broadcast_to(downside, means.shape)) * yearly,
    }


def annualised(log_growth: Estimate, years: float) -> Estimate:
    """Compound annual growth rate of a log growth over `years`."""
    return transformed(log_growth, lambda growth: np.expm1(min(growth / years, 700.0)))


def transformed(estimate: Estimate, rising: Callable[[float], float]) -> Estimate:
    """Apply a rising function to a value and its bounds."""

    def bound(value: float | None) -> float | None:
        return None if value is None else float(rising(value))

    value = float(rising(estimate.value))
    return Estimate(value, bound(estimate.low), bound(estimate.high), estimate.runs_needed)
