"""Scripted portfolios: what a policy is compared with. Each gives the actions of all rows, in the env's own space.

Those with fixed weights go back to them every hour. Those that estimate decide once a day, from the returns of the last
`WINDOW` hours, and hold what they have in between: an estimate moves a little every hour, and following it hourly would
pay for noise.
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
    from mayavi.portfolio.env.env import RWAYieldEnv

Play = Callable[["RWAYieldEnv"], NDArray[Any]]
Floats = NDArray[np.float64]

WINDOW = LOOKBACK
"""Hours that estimates are made from: a week."""
DECISION_HOURS = 24
_ROWS_AT_ONCE = 128
"""Past hours of so many rows stay in a processor's cache."""


def buy_and_hold(env: RWAYieldEnv) -> NDArray[Any]:
    """Trades nothing but what the bounds ask for."""
    return env.holding_actions()


def _fixed(*wanted: float) -> Play:
    """The nearest to these weights within bounds, every hour; the same array again for the same number of rows."""
    known: dict[tuple[Any, ...], NDArray[Any]] = {}

    def play(env: RWAYieldEnv) -> NDArray[Any]:
        config = env.config
        key = (env.rows, config.min_weight, config.max_weight, config.actions)
        found = known.get(key)
        if found is None:
            weights = project(np.array([wanted]), config.min_weight, config.max_weight)
            found = env.actions_for(np.repeat(weights, env.rows, axis=0))
            found.flags.writeable = False
            known.clear()  # other threads may play too, and each keeps what it found
            known[key] = found
        return found

    return play


def _daily(
    estimate: Callable[[RWAYieldEnv, NDArray[np.intp]], Floats], rule: Callable[[Floats, float, float], Floats]
) -> Play:
    """At the first hour of each day the weights that `rule` makes of an estimate and the bounds."""

    def play(env: RWAYieldEnv) -> NDArray[Any]:
        actions, config = env.holding_actions(), env.config
        due = np.flatnonzero(env.hours % DECISION_HOURS == 0)
        if len(due):
            parts = [due[at : at + _ROWS_AT_ONCE] for at in range(0, len(due), _ROWS_AT_ONCE)]
            known = np.concatenate([estimate(env, part) for part in parts])
            actions[due] = env.actions_for(rule(known, config.min_weight, config.max_weight))
        return actions

    return play


def _covariance(env: RWAYieldEnv, rows: NDArray[np.intp]) -> Floats:
    return allocation.covariance(env.past_growth(WINDOW, rows))


def _grown(env: RWAYieldEnv, rows: NDArray[np.intp]) -> Floats:
    """(rows, 1, 3): what the window as a whole made of a dollar."""
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
