"""Observations of a borrower: figures of its row, scaled for a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mayavi.numerics import portable

if TYPE_CHECKING:
    from mayavi.gym_env.lending.env import LendingRowsEnv
    from mayavi.gym_env.rows import Observations


class Entry(NamedTuple):
    """One entry of an observation, clipped to its bounds."""

    name: str
    least: float
    most: float
    meaning: str


OBSERVED = (
    Entry("debt_to_limit", 0.0, 2.0, "debt over the debt at which it is liquidated: one over the health factor"),
    Entry("loan_to_value", 0.0, 2.0, "debt over collateral"),
    Entry("cash_to_value", 0.0, 2.0, "dollars in the wallet over collateral"),
    Entry("headroom_to_value", 0.0, 1.0, "what may still be borrowed over collateral"),
    Entry("price", -2.0, 2.0, "logarithm of the collateral's price over that of the start"),
    Entry("last_return", -5.0, 5.0, "logarithm of the price over that of the step before, in tenths"),
    Entry("trend", -5.0, 5.0, "an average of such returns in which the later ones weigh more"),
    Entry("volatility", 0.0, 10.0, "of the price outside of shocks, a year: as implied by options"),
    Entry("borrow_rate", 0.0, 10.0, "what debt costs a year, in tenths"),
    Entry("supply_rate", 0.0, 10.0, "what collateral earns a year, in tenths"),
    Entry("cash_yield", -10.0, 10.0, "what dollars in the wallet earn a year, in tenths"),
    Entry("spread", -10.0, 10.0, "the yield less the borrow rate, in tenths"),
    Entry("wealth", -2.0, 2.0, "net wealth over that of the start, less one"),
    Entry("size", 0.0, 1.0, "logarithm to base ten of the collateral in dollars, in tenths"),
    Entry("time_left", 0.0, 1.0, "the share of the steps that is left"),
)
LOWS = np.array([entry.least for entry in OBSERVED], dtype=np.float32)
HIGHS = np.array([entry.most for entry in OBSERVED], dtype=np.float32)
_LEAST, _MOST = LOWS.astype(np.float64), HIGHS.astype(np.float64)

LOGS = SINCE_LAST, SINCE_START, OF_SIZE = range(3)
"""Columns of `logs`: price over the last step's price, price over the initial price, and collateral value."""

TREND_MEMORY = 0.6
"""Weight of the trend so far in the next step's trend."""
_TENTHS = 10.0
_LOG_10 = float(portable.log(10.0))


def observations(env: LendingRowsEnv[Any]) -> Observations:
    """Observations of all rows."""
    value, debt = np.maximum(env.figure("collateral_value_e8"), 1.0), env.figure("debt_value_e8")
    rate, cash_yield = env.figure("borrow_rate_wad") / 1e17, env.columns["cash_yield_ppm"] / 1e5
    start = np.maximum(env.columns["start_wealth_e8"], 1.0)
    headroom_value = env.figure("headroom") * (env.adapter.terms.debt_price_e8 / env.adapter.debt_unit)
    seen = np.empty((env.rows, len(OBSERVED)))
    seen[:, 0] = debt / np.maximum(env.figure("limit_e8"), 1.0)
    seen[:, 1] = debt / value
    seen[:, 2] = env.figure("cash_value_e8") / value
    seen[:, 3] = headroom_value / value
    logs = env.columns["logs"]
    seen[:, 4] = logs[:, SINCE_START]
    seen[:, 5] = env.columns["last_return"] * _TENTHS
    seen[:, 6] = env.columns["trend"] * _TENTHS
    seen[:, 7] = env.columns["volatility"]
    seen[:, 8] = rate
    seen[:, 9] = env.figure("supply_rate_wad") / 1e17
    seen[:, 10] = cash_yield
    seen[:, 11] = cash_yield - rate
    seen[:, 12] = env.net_wealth_e8() / start - 1.0
    seen[:, 13] = logs[:, OF_SIZE] / (_TENTHS * _LOG_10)
    seen[:, 14] = 1.0 - env.steps / env.config.horizon
    return np.minimum(np.maximum(seen, _LEAST, out=seen), _MOST, out=seen).astype(np.float32)
