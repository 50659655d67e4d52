"""How the metrics of a backtest are written: titles, percentages, digits."""

from __future__ import annotations

from mayavi.portfolio.market.data import ASSETS

NAMES = dict(zip(ASSETS, ("USDY", "mETH", "MI4"), strict=True))
SHARES = {"total_return", "cagr", "volatility", "max_drawdown", "time_in_drawdown", "value_at_risk",
          "expected_shortfall"}  # fmt: skip
"""Metrics shown in percent."""
TITLES = {
    "total_return": "return",
    "log_growth": "log growth",
    "cagr": "CAGR",
    "volatility": "volatility",
    "sharpe": "Sharpe",
    "sortino": "Sortino",
    "calmar": "Calmar",
    "max_drawdown": "max drawdown",
    "time_in_drawdown": "time in drawdown",
    "value_at_risk": "VaR 95 %, an hour",
    "expected_shortfall": "ES 95 %, an hour",
    "turnover": "turnover",
    "cost": "cost, $",
}


def figure(metric: str, value: float) -> str:
    """Format the value of a metric for people."""
    if metric in SHARES:
        return f"{_fixed(value * 100, 1 if abs(value) >= 1 else 2)} %"
    return _fixed(value, 5 if metric == "log_growth" else 2)


def _fixed(value: float, digits: int) -> str:
    """Format to `digits` places with a true minus; never prints −0."""
    return f"{round(value, digits) + 0.0:,.{digits}f}".replace("-", "−")
