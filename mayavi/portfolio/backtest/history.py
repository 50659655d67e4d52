"""Figures of a portfolio in one history, with confidence intervals over blocks of hours.

Growth, risk-adjusted returns and costs are estimated like means over the blocks. What depends on the order of all hours
has no interval: a history has one largest drawdown, and it says little about that of another.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mayavi.portfolio.backtest.metrics import HOURS_A_YEAR, METRICS, TAIL, Floats, portfolio_metrics
from mayavi.statistics.block_jackknife import block_count, block_terms, estimate_over_blocks, exceedance_interval
from mayavi.statistics.bootstrap import Bootstrap
from mayavi.statistics.estimate import Estimate

WITHOUT_INTERVAL = ("calmar", "max_drawdown", "time_in_drawdown")
"""Metrics of one history that have no interval, however long it is."""
NO_INTERVAL = "one history has one largest drawdown, so calmar, max_drawdown and time_in_drawdown have no interval"

_TOTALS = frozenset({"log_growth", "turnover", "cost"})
_NOT_NEGATIVE = frozenset({"volatility", "turnover", "cost"})

Hourly = tuple[Floats, Floats, Floats]
"""Growth factors, turnover and costs of each hour, all of shape (hours,)."""


def historical_figures(
    hourly: Hourly, risk_free_rate: float, block_hours: int, bootstrap: Bootstrap
) -> tuple[dict[str, Estimate], dict[str, Floats]]:
    """Estimate all `METRICS` of one history, and return the terms of its blocks, for paired differences."""

    def metrics(growth: Floats, turnover: Floats, cost: Floats) -> dict[str, Floats]:
        values = np.ones((len(growth), growth.shape[1] + 1))
        np.cumprod(growth, axis=1, out=values[:, 1:])
        return portfolio_metrics(
            values, risk_free_rate=risk_free_rate, turnover=turnover.sum(axis=1), cost=cost.sum(axis=1)
        )

    growth = hourly[0]
    hours = len(growth)
    blocks = block_count(hours, block_hours)
    whole = {name: float(found[0]) for name, found in metrics(*(each[None] for each in hourly)).items()}
    terms = block_terms(hourly, metrics, blocks, _TOTALS)
    figures = {name: _figure(name, whole[name], terms[name], bootstrap) for name in METRICS}
    growing = figures["log_growth"]
    figures["total_return"] = transformed(growing, np.expm1)
    figures["cagr"] = annualised(growing, hours / HOURS_A_YEAR)
    figures["value_at_risk"] = exceedance_interval(1.0 - growth, TAIL, blocks, bootstrap)
    return figures, terms


def _figure(name: str, value: float, terms: Floats, bootstrap: Bootstrap) -> Estimate:
    if name in WITHOUT_INTERVAL:
        return Estimate(value, None, None)
    found = estimate_over_blocks(value, terms, bootstrap)
    if found.low is not None and name in _NOT_NEGATIVE:
        return Estimate(value, max(0.0, found.low), found.high, found.runs_needed)
    return found


def annualised(log_growth: Estimate, years: float) -> Estimate:
    """Compound annual growth rate of a log growth over `years`."""
    return transformed(log_growth, lambda growth: np.expm1(min(growth / years, 700.0)))


def transformed(estimate: Estimate, rising: Callable[[float], float]) -> Estimate:
    """Apply a rising function to a value and its bounds."""

    def bound(value: float | None) -> float | None:
        return None if value is None else float(rising(value))

    value = float(rising(estimate.value))
    return Estimate(value, bound(estimate.low), bound(estimate.high), estimate.runs_needed)
