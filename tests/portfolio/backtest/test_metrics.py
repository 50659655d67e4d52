"""Figures of a portfolio, each against what one works out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mayavi.errors import BadArgument
from mayavi.portfolio.backtest.metrics import (
    METRICS,
    drawdowns,
    hourly_rate,
    loss_tail,
    portfolio_metrics,
)

YEAR = 8_760


def of(values: list[float], rate: float = 0.0, **paid: float) -> dict[str, float]:
    given = {name: np.array([each]) for name, each in paid.items()}
    figures = portfolio_metrics(np.array([values], dtype=float), risk_free_rate=rate, **given)
    assert list(figures) == list(METRICS)
    return {name: float(each[0]) for name, each in figures.items()}


def test_a_portfolio_of_four_hours_by_hand():
    """100 → 110 → 99 → 99 → 118.8: returns of +10 %, −10 %, 0 and +20 %."""
    found = of([100, 110, 99, 99, 118.8], turnover=0.5, cost=12.5)
    assert found["total_return"] == pytest.approx(0.188)
    assert found["log_growth"] == pytest.approx(math.log(1.188))
    assert found["cagr"] == pytest.approx(1.188 ** (YEAR / 4) - 1)
    deviation = math.sqrt((0.05**2 + 0.15**2 + 0.05**2 + 0.15**2) / 4)  # around the mean of 5 %
    assert found["volatility"] == pytest.approx(deviation * math.sqrt(YEAR))
    assert found["sharpe"] == pytest.approx(0.05 / deviation * math.sqrt(YEAR))
    assert found["sortino"] == pytest.approx(0.05 / math.sqrt(0.1**2 / 4) * math.sqrt(YEAR))
    assert found["max_drawdown"] == pytest.approx(0.1)
    assert found["calmar"] == pytest.approx(found["cagr"] / 0.1)
    assert found["time_in_drawdown"] == 0.5
    assert found["value_at_risk"] == pytest.approx(0.1)
    assert found["expected_shortfall"] == pytest.approx(0.1)
    assert (found["turnover"], found["cost"]) == (0.5, 12.5)


def test_ratios_are_of_what_lies_beyond_the_risk_free_rate():
    hour = hourly_rate(50.0)
    found, plain = of([100, 110, 99, 99, 118.8], rate=50.0), of([100, 110, 99, 99, 118.8])
    assert found["volatility"] == plain["volatility"]
    assert found["sharpe"] == pytest.approx((0.05 - hour) / 0.05 * plain["sharpe"], rel=1e-9)
    short = math.sqrt(((0.1 + hour) ** 2 + hour**2) / 4)  # the hour at a loss, and the one that stood still
    assert found["sortino"] == pytest.approx((0.05 - hour) / short * math.sqrt(YEAR), rel=1e-9)


def test_the_risk_free_rate_compounds_to_a_year():
    hour = hourly_rate(4.25)
    assert (1 + hour) ** YEAR == pytest.approx(1.0425)
    riskless = 100 * (1 + hour) ** np.arange(721)
    found = of(riskless.tolist(), rate=4.25)
    assert found["cagr"] == pytest.approx(0.0425)
    assert abs(found["sharpe"]) < 1e-6
    assert found["max_drawdown"] == found["time_in_drawdown"] == 0


def test_the_deepest_fall_is_from_a_peak_before_it_and_not_from_the_highest_of_all():
    found = of([100, 120, 90, 130, 117, 200])
    assert found["max_drawdown"] == pytest.approx(0.25)  # 120 → 90
    assert drawdowns(np.array([[100.0, 120, 90, 130, 117, 200]]))[0] == pytest.approx([0, 0, 0.25, 0, 0.1, 0])
    assert found["time_in_drawdown"] == pytest.approx(2 / 5)


def test_what_never_moves_has_ratios_of_zero():
    found = of([100.0] * 10)
    assert {found[name] for name in ("sharpe", "sortino", "calmar", "volatility", "max_drawdown")} == {0.0}


def test_value_at_risk_and_shortfall_are_of_the_worst_five_of_a_hundred_hours():
    returns = np.zeros(100)
    returns[[3, 20, 40, 60, 80]] = [-0.05, -0.04, -0.03, -0.02, -0.01]
    found = of((100 * np.cumprod(np.concatenate([[1], 1 + returns]))).tolist())
    assert loss_tail(100) == 5
    assert found["value_at_risk"] == pytest.approx(0.01)
    assert found["expected_shortfall"] == pytest.approx(0.03)
    assert [loss_tail(hours) for hours in (1, 19, 20, 21, 720, 8_760)] == [1, 1, 1, 2, 36, 438]


def test_many_episodes_at_once_are_each_by_itself():
    rng = np.random.default_rng(1)
    values = 1e5 * np.cumprod(1 + rng.normal(0, 0.01, (600, 50)), axis=1)
    together = portfolio_metrics(values, risk_free_rate=4.25)
    for at in (0, 255, 256, 599):
        alone = portfolio_metrics(values[at : at + 1], risk_free_rate=4.25)
        for name in METRICS:
            assert together[name][at] == pytest.approx(alone[name][0], rel=1e-12), name


def test_what_is_no_portfolio_is_refused():
    with pytest.raises(BadArgument, match="shape"):
        portfolio_metrics(np.ones(5), risk_free_rate=0)
    with pytest.raises(BadArgument, match="worth nothing"):
        portfolio_metrics(np.array([[1.0, 0.0]]), risk_free_rate=0)
    with pytest.raises(BadArgument, match="cost"):
        portfolio_metrics(np.ones((2, 3)), risk_free_rate=0, cost=np.ones(3))
