"""Observations and rewards of all rows by arrays: the formulas of `observations.py` and `rewards.py`, in NumPy.

A large batch is faster this way; results have the same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mayavi.gym_env.lending.observations import HIGHS, LOG_10, LOWS, OBSERVED, TENTHS
from mayavi.gym_env.lending.rewards import (
    GUARDED_HEALTH,
    HIGHEST_HEALTH,
    LIQUIDATED,
    NEEDLESS_COST,
    NEEDLESS_HEALTH,
    THIN_COST,
)
from mayavi.numerics import portable

if TYPE_CHECKING:
    from mayavi.gym_env.lending.env import LendingRowsEnv
    from mayavi.gym_env.rows import Floats, Observations, Rows

_LEAST, _MOST = LOWS.astype(np.float64), HIGHS.astype(np.float64)
LOGS = SINCE_LAST, SINCE_START, OF_SIZE = range(3)
"""Columns of `logs`: price over the last step's price, price over the initial price, and collateral value."""


def logarithms(env: LendingRowsEnv[Any], which: slice | Rows = slice(None)) -> Floats:
    """The logarithms `SINCE_LAST`, `SINCE_START` and `OF_SIZE` of each row of `which`, computed in one call."""
    price = np.maximum(env.figure("price_e8")[which], 1.0)
    ratios = np.empty((len(LOGS), len(price)))
    ratios[SINCE_LAST] = price / np.maximum(env.columns["last_price_e8"][which], 1.0)
    ratios[SINCE_START] = price / np.maximum(env.columns["start_price_e8"][which], 1.0)
    ratios[OF_SIZE] = np.maximum(np.maximum(env.figure("collateral_value_e8")[which], 1.0) / 1e8, 1.0)
    return portable.log(ratios).T


def observations(env: LendingRowsEnv[Any]) -> Observations:
    """Observations of all rows."""
    value, debt = np.maximum(env.figure("collateral_value_e8"), 1.0), env.figure("debt_value_e8")
    rate, cash_yield = env.figure("borrow_rate_wad") / 1e17, env.columns["cash_yield_ppm"] / 1e5
    start = np.maximum(env.columns["start_wealth_e8"], 1.0)
    seen = np.empty((env.rows, len(OBSERVED)))
    seen[:, 0] = debt / np.maximum(env.figure("limit_e8"), 1.0)
    seen[:, 1] = debt / value
    seen[:, 2] = env.figure("cash_value_e8") / value
    seen[:, 3] = env.headroom_value_e8() / value
    logs = env.columns["logs"]
    seen[:, 4] = logs[:, SINCE_START]
    seen[:, 5] = env.columns["last_return"] * TENTHS
    seen[:, 6] = env.columns["trend"] * TENTHS
    seen[:, 7] = env.columns["volatility"]
    seen[:, 8] = rate
    seen[:, 9] = env.figure("supply_rate_wad") / 1e17
    seen[:, 10] = cash_yield
    seen[:, 11] = cash_yield - rate
    seen[:, 12] = env.net_wealth_e8() / start - 1.0
    seen[:, 13] = logs[:, OF_SIZE] / (TENTHS * LOG_10)
    seen[:, 14] = 1.0 - env.steps / env.config.horizon
    return np.minimum(np.maximum(seen, _LEAST, out=seen), _MOST, out=seen).astype(np.float32)


def rewards(env: LendingRowsEnv[Any]) -> Floats:
    """Configured reward of all rows."""
    found: Floats
    columns, kind = env.columns, env.config.reward
    start = np.maximum(columns["start_wealth_e8"], 1.0)
    if kind == "net_wealth":
        found = np.where(env.steps >= env.config.horizon, (env.net_wealth_e8() - start) / start, 0.0)
    elif kind == "health":
        now, before = (np.minimum(each, HIGHEST_HEALTH) for each in (env.health(), columns["last_health"]))
        found = now - before - NEEDLESS_COST * np.maximum(now - NEEDLESS_HEALTH, 0.0)
    else:
        by_price = columns["last_collateral"] * (env.figure("price_e8") - columns["last_price_e8"]) / env.adapter.unit
        found = (env.net_wealth_e8() - columns["last_wealth_e8"] - by_price) / start
    if kind == "guarded":
        missing = np.maximum(GUARDED_HEALTH - env.health(), 0.0) / (GUARDED_HEALTH - 1.0)
        found = found - THIN_COST * missing
    return np.where(columns["liquidated"], LIQUIDATED, found)
