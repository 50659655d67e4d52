"""Rule-based strategies that policies are compared with. Each returns actions for all rows in the env's own space.

Strategies with fixed weights rebalance every hour. Those with estimates decide once a day, from the returns of the last
`WINDOW` hours, and hold in between: hourly estimates change a little all the time, and following them would pay for
noise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.portfolio import allocation
from mayavi.portfolio.capped_simplex import project
from mayavi.portfolio.env.config import LOOKBACK
from mayavi.portfolio.market.data import ASSETS

if TYPE_CHECKING:
    from mayavi.portfolio.env.env import RWAYieldRows

Play = Callable[["RWAYieldRows"], NDArray[Any]]
Floats = NDArray[np.float64]

WINDOW = LOOKBACK
"""Hours of returns behind an estimate: a week."""
DECISION_HOURS = 24
_ROWS_AT_ONCE = 128
"""Rows per batch: their past hours stay in the processor's cache."""


def buy_and_hold(env: RWAYieldRows) -> NDArray[Any]:
    """Trade only to restore the bounds."""
    return env.holding_actions()


def _fixed(*wanted: float) -> Play:
    """Rebalance every hour to the projection of these weights; returns the same array while settings are the same."""
    known: dict[tuple[Any, ...], NDArray[Any]] = {}

    def play(env: RWAYieldRows) -> NDArray[Any]:
        config = env.config
        key = (env.rows, config.min_weight, config.max_weight, config.actions)
        found = known.get(key)
        if found is None:
            weights = project(np.array([wanted]), config.min_weight, config.max_weight)
            found = env.actions_for(np.repeat(weights, env.rows, axis=0))
            found.flags.writeable = False
            known.clear()  # safe with other threads: each returns its own `found`
            known[key] = found
        return found

    return play


def _daily(
    estimate: Callable[[RWAYieldRows, NDArray[np.intp]], Floats], rule: Callable[[Floats, float, float], Floats]
) -> Play:
    """At the first hour of each day, set the weights that `rule` derives from an estimate and the bounds."""

    def play(env: RWAYieldRows) -> NDArray[Any]:
        actions, config = env.holding_actions(), env.config
        due = np.flatnonzero(env.hours % DECISION_HOURS == 0)
        if len(due):
            parts = [due[at : at + _ROWS_AT_ONCE] for at in range(0, len(due), _ROWS_AT_ONCE)]
            known = np.concatenate([estimate(env, part) for part in parts])
            actions[due] = env.actions_for(rule(known, config.min_weight, config.max_weight))
        return actions

    return play


def _covariance(env: RWAYieldRows, rows: NDArray[np.intp]) -> Floats:
    return allocation.covariance(env.past_growth(WINDOW, rows))


def _grown(env: RWAYieldRows, rows: NDArray[np.intp]) -> Floats:
    """Growth factor over the whole window, (rows, 1, 3)."""
    markets, hours = env.markets, env.hours
    return (markets.levels_at(hours)[rows] / markets.levels_at(hours - WINDOW)[rows])[:, None]


STRATEGIES: dict[str, Callable[[Any], NDArray[Any]]] = {
    "equal_weight": _fixed(1 / 3, 1 / 3, 1 / 3),
    **{f"{name}_only": _fixed(*np.eye(len(ASSETS))[asset].tolist()) for asset, name in enumerate(ASSETS)},
    "buy_and_hold": buy_and_hold,
    "minimum_variance": _daily(_covariance, allocation.minimum_variance),
    "risk_parity": _daily(_covariance, allocation.risk_parity),
    "momentum": _daily(_grown, allocation.momentum),
    "volatility_targeting": _daily(_covariance, allocation.volatility_target),
    "noop": buy_and_hold,
}
