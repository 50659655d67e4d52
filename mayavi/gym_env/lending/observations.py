"""Observations of a borrower: figures of its row, scaled for a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from mayavi.evm.float_word import FloatWord
from mayavi.gym_env.lending.state import Moment, RowState
from mayavi.numerics import portable


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

TENTHS = 10.0
LOG_10 = float(portable.log(10.0))


def observation(
    figures: Mapping[str, FloatWord],
    now: Moment,
    state: RowState,
    *,
    cash_yield_ppm: FloatWord,
    steps_over_horizon: FloatWord,
    headroom_price_e8: float,
) -> list[FloatWord]:
    """Observation of a row; `headroom_price_e8` is the value of one smallest unit of the debt."""
    value, debt = now.collateral_value_e8.at_least(1.0), figures["debt_value_e8"]
    rate, cash_yield = figures["borrow_rate_wad"] / 1e17, cash_yield_ppm / 1e5
    seen = {
        "debt_to_limit": debt / figures["limit_e8"].at_least(1.0),
        "loan_to_value": debt / value,
        "cash_to_value": figures["cash_value_e8"] / value,
        "headroom_to_value": figures["headroom"] * headroom_price_e8 / value,
        "price": state.since_start,
        "last_return": state.last_return * TENTHS,
        "trend": state.trend * TENTHS,
        "volatility": state.volatility,
        "borrow_rate": rate,
        "supply_rate": figures["supply_rate_wad"] / 1e17,
        "cash_yield": cash_yield,
        "spread": cash_yield - rate,
        "wealth": now.net_wealth_e8 / state.start_wealth_e8.at_least(1.0) - 1.0,
        "size": state.of_size / (TENTHS * LOG_10),
        "time_left": 1.0 - steps_over_horizon,
    }
    return [seen[entry.name].at_least(entry.least).at_most(entry.most) for entry in OBSERVED]
