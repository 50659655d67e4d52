"""Portfolio metrics: growth, risk and trading costs, vectorised over episodes.

Returns and risks are shares (0.01 is 1 %); a year has 8,760 hours. An episode that ended early keeps its last value to
the end, so that all metrics cover the same hours. Where a metric would divide by zero, such as the Sharpe ratio of a
constant value, it is 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import BadArgument

Floats = NDArray[np.float64]

HOURS_A_YEAR = 8_760
AT_RISK = 0.95
"""Level of value at risk and expected shortfall: 95 % of the hours lose less than the value at risk."""
TAIL = round(1 - AT_RISK, 12)
"""Share of the hours whose losses the expected shortfall averages."""

METRICS = {
    "total_return": "growth of the capital",
    "log_growth": "logarithm of the growth factor: adds up over time",
    "cagr": "compound annual growth rate",
    "volatility": "standard deviation of hourly returns, annualised",
    "sharpe": "mean return in excess of the risk-free rate over the standard deviation, annualised",
    "sortino": "mean excess return over the deviation of returns below the risk-free rate, annualised",
    "calmar": "cagr over max_drawdown",
    "max_drawdown": "largest loss from an earlier peak, as a share of the peak",
    "time_in_drawdown": "share of hours below an earlier peak",
    "value_at_risk": "hourly loss that 95 % of the hours stay below",
    "expected_shortfall": "mean loss of the other 5 % of the hours",
    "turnover": "amount bought and sold over the value: 2 is everything exchanged once",
    "cost": "dollars paid for trading, gas included",
}
"""Metrics and their descriptions, in the order of tables."""

_MOST_LOG_GROWTH = 700.0
"""Cap on annualised log growth: that of a single good hour would overflow."""
_EPISODES_AT_ONCE = 256
"""Episodes per batch: their hours stay in the processor's cache."""


def portfolio_metrics(
    values: Floats, *, risk_free_rate: float, turnover: Floats | None = None, cost: Floats | None = None
) -> dict[str, Floats]:
    """Compute all `METRICS` of values in dollars, (episodes, hours + 1): arrays of shape (episodes,) by name.

    `risk_free_rate` is in percent a year; `turnover` and `cost` are totals of each episode.
    """
    worth = checked_values(values)
    episodes = len(worth)
    found = {name: np.zeros(episodes) for name in METRICS}
    for start in range(0, episodes, _EPISODES_AT_ONCE):
        some = slice(start, start + _EPISODES_AT_ONCE)
        for name, figures in _value_metrics(np.ascontiguousarray(worth[some].T), hourly_rate(risk_free_rate)).items():
            found[name][some] = figures
    for name, given in (("turnover", turnover), ("cost", cost)):
        if given is not None:
            if np.shape(given) != (episodes,):
                raise BadArgument(f"{name} has the shape {np.shape(given)}", f"one for each of {episodes} episodes")
            found[name] = np.array(given, dtype=np.float64)
    return found


def hourly_rate(percent_a_year: float) -> float:
    """Hourly return that compounds to `percent_a_year` in a year."""
    return float(np.expm1(np.log1p(percent_a_year / 100) / HOURS_A_YEAR))


def drawdowns(values: Floats) -> Floats:
    """Loss of each value from the highest before it, as a share; shape (episodes, hours)."""
    peaks = np.maximum.accumulate(values, axis=-1)
    return 1.0 - values / peaks


def loss_tail(hours: int) -> int:
    """Number of hours that the expected shortfall averages: `TAIL`, rounded up."""
    return max(1, int(np.ceil(round(hours * TAIL, 9))))


def checked_values(values: Floats) -> Floats:
    """Validate values: (episodes, hours + 1) positive dollars, else `BadArgument`."""
    worth = np.asarray(values, dtype=np.float64)
    if worth.ndim != 2 or not len(worth) or worth.shape[1] < 2:
        raise BadArgument(f"values have the shape {worth.shape}", "give (episodes, hours + 1), one hour at least")
    if not np.isfinite(worth).all() or (worth <= 0).any():
        raise BadArgument("a portfolio is worth nothing, or no number", "values are dollars above zero")
    return worth


def _value_metrics(worth: Floats, riskless: float) -> dict[str, Floats]:
    """Metrics that follow from the values alone, given as (hours + 1, episodes), the faster layout."""
    hours = len(worth) - 1
    returns = worth[1:] / worth[:-1] - 1.0
    grown = worth[-1] / worth[0]
    log_growth = np.log(grown)
    excess = returns.mean(axis=0) - riskless
    deviation = returns.std(axis=0)
    short = np.minimum(returns - riskless, 0.0)
    downside = np.sqrt(np.einsum("he,he->e", short, short) / hours)
    peaks = np.maximum.accumulate(worth, axis=0)
    deepest = (1.0 - worth / peaks).max(axis=0)
    tail = loss_tail(hours)
    worst = np.partition(returns.T, tail - 1, axis=1)[:, :tail]
    yearly = np.sqrt(HOURS_A_YEAR)
    cagr = np.expm1(np.minimum(log_growth * (HOURS_A_YEAR / hours), _MOST_LOG_GROWTH))
    return {
        "total_return": grown - 1.0,
        "log_growth": log_growth,
        "cagr": cagr,
        "volatility": deviation * yearly,
        "sharpe": ratio(excess, deviation) * yearly,
        "sortino": ratio(excess, downside) * yearly,
        "calmar": ratio(cagr, deepest),
        "max_drawdown": deepest,
        "time_in_drawdown": (worth[1:] < peaks[1:]).mean(axis=0),
        "value_at_risk": -worst[:, -1],
        "expected_shortfall": -worst.mean(axis=1),
    }


def ratio(above: Floats, below: Floats) -> Floats:
    """Divide, with 0 where the divisor is zero up to rounding."""
    some = below > 1e-14
    return np.where(some, above, 0.0) / np.where(some, below, 1.0)
