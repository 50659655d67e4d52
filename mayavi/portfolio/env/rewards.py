"""Reward functions of `RWAYieldRows`, by name. Each returns one reward per row for the last hour."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mayavi.numerics import portable
from mayavi.portfolio.market.data import HOURS_PER_YEAR

if TYPE_CHECKING:
    from mayavi.gym_env.rows import Floats
    from mayavi.portfolio.env.env import RWAYieldRows

LEAST_GROWTH = 1e-12
"""Lower bound of an hourly growth factor, for its logarithm."""

SHARPE_WINDOW = 168
SHAPED_DRAWDOWN, SHAPED_COST, SHAPED_DEPEG = 50.0, 1_000.0, 10.0
SHAPED_PEGS = (0.995, 0.98)
"""Pegs of USDY and mETH below which `shaped` charges a penalty."""


def hourly_rate(percent_a_year: float) -> float:
    """Log growth of the risk-free rate in an hour."""
    return percent_a_year / 100.0 / HOURS_PER_YEAR


def log_growth(env: RWAYieldRows) -> Floats:
    """Log growth in excess of the risk-free rate, less a penalty on its square.

    The reward is scaling × (x - risk_aversion / 2 × x²), where x is the hour's log growth less the risk-free rate.
    Costs reduce the growth, once. The squares add up to the realised variance, so the sum over an episode is, to second
    order, the utility of an investor with constant relative risk aversion 1 + `risk_aversion`. A drawdown term would
    make the reward depend on an old peak and charge a loss again every hour until it is recovered; this reward depends
    on the last hour alone. Ruin never pays: the loss that led there cost more than any later hour could.

    With a `benchmark`, its reward of the same hour is subtracted. No action changes that number, so differences between
    policies stay the same; but it carries most of the market's noise, and what remains is easier to learn from.
    """
    grown = np.maximum(1.0 + env.columns["hourly_return"], LEAST_GROWTH)
    rewards = _utility(env, grown)
    if env.config.benchmark == "equal_weight":
        rewards -= _utility(env, equal_growth(env))
    return rewards


def _utility(env: RWAYieldRows, grown: Floats) -> Floats:
    """Reward of `log_growth` for hourly growth factors."""
    config = env.config
    excess: Floats = portable.log(grown) - hourly_rate(config.risk_free_rate)
    rewards: Floats = (excess - 0.5 * config.risk_aversion * excess * excess) * config.reward_scaling
    return rewards


def equal_growth(env: RWAYieldRows) -> Floats:
    """Growth factor of equal weights without costs in the last hour."""
    hours = env.hours
    factors = env.markets.levels_at(hours) / env.markets.levels_at(np.maximum(hours - 1, 0))
    growth: Floats = (factors[:, 0] + factors[:, 1] + factors[:, 2]) / 3.0
    return growth


def shaped(env: RWAYieldRows) -> Floats:
    """Shaped reward for comparison: sharpe × scaling - 50 × drawdown - depeg penalty - 1,000 × cost share.

    `sharpe` is the hour's excess return over the standard deviation of the last 168 returns plus 1e-8 (100 times the
    excess in the first hour). The depeg penalty is 10 times the weight of USDY while its peg is below 0.995, and of
    mETH below 0.98. Known flaws: an hourly Sharpe ratio is noise of size one, which times 100 dominates everything; the
    return is part of its own divisor; costs count in the return and again a thousandfold; the drawdown is charged every
    hour; and since most hours cost something, ending early pays.
    """
    columns, config = env.columns, env.config
    excess = columns["hourly_return"] - hourly_rate(config.risk_free_rate)
    _, deviation, count = trailing_moments(env)
    sharpe = np.where(count > 1, excess / (deviation + 1e-8), excess * 100.0)
    pegs, held = env.markets.pegs_at(env.hours), columns["target"]
    depegs = np.zeros(env.rows)
    for asset, least in enumerate(SHAPED_PEGS):
        depegs += np.where(pegs[:, asset] < least, SHAPED_DEPEG * held[:, asset], 0.0)
    costs = columns["turnover"] * (config.rebalance_cost_bps / 10_000.0)
    rewards: Floats = sharpe * config.reward_scaling - SHAPED_DRAWDOWN * env.drawdown() - depegs - SHAPED_COST * costs
    return rewards


def trailing_moments(env: RWAYieldRows) -> tuple[Floats, Floats, Floats]:
    """Mean, standard deviation and number of the returns of the last 168 hours, or fewer near the start."""
    back = env.hours[:, None] + np.arange(-SHARPE_WINDOW, 1)
    values = env.value_at(back)  # the initial value before the start: returns of zero
    returns = values[:, 1:] / values[:, :-1] - 1.0
    count = np.minimum(env.hours, SHARPE_WINDOW).astype(np.float64)
    known = np.maximum(count, 1.0)
    mean = returns.sum(axis=1) / known
    squares = np.where(back[:, 1:] > 0, (returns - mean[:, None]) ** 2, 0.0)
    return mean, np.sqrt(squares.sum(axis=1) / known), count


def sharpe_ratio(env: RWAYieldRows) -> Floats:
    """Sharpe ratio per year of the last 168 hours; zero until two returns differ."""
    mean, deviation, count = trailing_moments(env)
    excess = (mean - hourly_rate(env.config.risk_free_rate)) * math.sqrt(HOURS_PER_YEAR)
    ratio: Floats = np.where((count > 1) & (deviation > 0), excess / np.maximum(deviation, 1e-300), 0.0)
    return ratio


REWARDS: dict[str, Callable[[RWAYieldRows], Floats]] = {"log_growth": log_growth, "shaped": shaped}
