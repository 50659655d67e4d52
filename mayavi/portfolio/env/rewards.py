"""What `RWAYieldEnv` rewards, by name. Each gives one number for each row, for the hour just gone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mayavi.numerics import portable
from mayavi.portfolio.market.data import HOURS_PER_YEAR

if TYPE_CHECKING:
    from mayavi.gym_env.rows import Floats
    from mayavi.portfolio.env.env import RWAYieldEnv

LEAST_GROWTH = 1e-12
"""A value of zero counts as this share of the one before."""

SHARPE_WINDOW = 168
SEED_DRAWDOWN, SEED_COST, SEED_DEPEG = 50.0, 1_000.0, 10.0
SEED_PEGS = (0.995, 0.98)
"""Of USDY and mETH, below what it costs."""


def hourly_rate(percent_a_year: float) -> float:
    """What the risk-free rate adds to the logarithm of a value in an hour."""
    return percent_a_year / 100.0 / HOURS_PER_YEAR


def log_growth(env: RWAYieldEnv) -> Floats:
    """scaling × (x - risk_aversion / 2 × x²), x: the logarithm of the hour's growth less that of the risk-free rate.

    Costs are in the growth, once. The squares add up to the variance that the value went through, so the sum over an
    episode is, to second order, what somebody of constant relative risk aversion 1 + `risk_aversion` maximises. A term
    for the drawdown would make today's reward depend on a peak long gone, and would charge a loss again every hour
    until it is made good; this one is the same whatever happened before. Ruin never pays: what led there was rewarded
    with less than the logarithm of what is left, and no later hour could have cost as much.

    With a `benchmark` its reward of the same hour is taken off. Nobody's actions change that number, so whoever plays
    an episode to its end is ahead of another by as much as without it; but most of the market's noise is in both, and
    what an action was worth is easier to learn from the rest.
    """
    grown = np.maximum(1.0 + env.columns["hourly_return"], LEAST_GROWTH)
    rewards = _worth(env, grown)
    if env.config.benchmark == "equal_weight":
        rewards -= _worth(env, equal_growth(env))
    return rewards


def _worth(env: RWAYieldEnv, grown: Floats) -> Floats:
    """What `log_growth` makes of an hour's growth."""
    config = env.config
    excess: Floats = portable.log(grown) - hourly_rate(config.risk_free_rate)
    rewards: Floats = (excess - 0.5 * config.risk_aversion * excess * excess) * config.reward_scaling
    return rewards


def equal_growth(env: RWAYieldEnv) -> Floats:
    """What a third of each asset, with no costs, grew by in the hour just gone."""
    hours = env.hours
    factors = env.markets.levels_at(hours) / env.markets.levels_at(np.maximum(hours - 1, 0))
    growth: Floats = (factors[:, 0] + factors[:, 1] + factors[:, 2]) / 3.0
    return growth


def seed(env: RWAYieldEnv) -> Floats:
    """sharpe × scaling - 50 × drawdown - depeg penalty - 1,000 × cost share: a shaped reward, to be compared with.

    `sharpe` is the hour's excess return over the standard deviation of the last 168 returns and 1e-8 (100 times the
    excess in the first hour). The penalty is 10 times the weight of USDY while its peg is below 0.995, and of mETH
    below 0.98. What is wrong with it: one hour's return over its own deviation is noise of the size of one, which times
    100 drowns all the rest; the return divided is in its own divisor; costs count in the return and a thousandfold
    again; the drawdown is charged every hour; and as most hours cost something, an early end is worth having.
    """
    columns, config = env.columns, env.config
    excess = columns["hourly_return"] - hourly_rate(config.risk_free_rate)
    _, deviation, count = trailing_moments(env)
    sharpe = np.where(count > 1, excess / (deviation + 1e-8), excess * 100.0)
    pegs, held = env.markets.pegs_at(env.hours), columns["target"]
    depegs = np.zeros(env.rows)
    for asset, least in enumerate(SEED_PEGS):
        depegs += np.where(pegs[:, asset] < least, SEED_DEPEG * held[:, asset], 0.0)
    costs = columns["turnover"] * (config.rebalance_cost_bps / 10_000.0)
    rewards: Floats = sharpe * config.reward_scaling - SEED_DRAWDOWN * env.drawdown() - depegs - SEED_COST * costs
    return rewards


def trailing_moments(env: RWAYieldEnv) -> tuple[Floats, Floats, Floats]:
    """Mean and standard deviation of the returns of the last 168 hours, or of as many as there are, and how many."""
    back = env.hours[:, None] + np.arange(-SHARPE_WINDOW, 1)
    values = env.value_at(back)  # the start's before the start: a return of zero
    returns = values[:, 1:] / values[:, :-1] - 1.0
    count = np.minimum(env.hours, SHARPE_WINDOW).astype(np.float64)
    known = np.maximum(count, 1.0)
    mean = returns.sum(axis=1) / known
    squares = np.where(back[:, 1:] > 0, (returns - mean[:, None]) ** 2, 0.0)
    return mean, np.sqrt(squares.sum(axis=1) / known), count


def sharpe_ratio(env: RWAYieldEnv) -> Floats:
    """A year's, of the last 168 hours or as many as there are; zero before there are two that differ."""
    mean, deviation, count = trailing_moments(env)
    excess = (mean - hourly_rate(env.config.risk_free_rate)) * math.sqrt(HOURS_PER_YEAR)
    ratio: Floats = np.where((count > 1) & (deviation > 0), excess / np.maximum(deviation, 1e-300), 0.0)
    return ratio


REWARDS: dict[str, Callable[[RWAYieldEnv], Floats]] = {"log_growth": log_growth, "seed": seed}
