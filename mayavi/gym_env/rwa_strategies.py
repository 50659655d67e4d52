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

from mayavi.gym_env.rwa_config import LOOKBACK
from mayavi.markets import allocation
from mayavi.markets.capped_simplex import project
from mayavi.markets.rwa_data import ASSETS

if TYPE_CHECKING:
    from mayavi.gym_env.rwa_yield import RWAYieldEnv

Play = Callable[["RWAYieldEnv"], NDArray[Any]]
Floats = NDArray[np.float64]

WINDOW = LOOKBACK
"""Hours that estimates are made from: a week."""
DECISION_HOURS = 24


def buy_and_hold(env: RWAYieldEnv) -> NDArray[Any]:
    """Trades nothing but what the bounds ask for."""
    return env.holding_actions()


def _fixed(*wanted: float) -> Play:
    """The nearest to these weights within bounds, every hour; the same array again for the same number of rows."""
    known: dict[tuple[Any, ...], NDArray[Any]] = {}

    def play(env: RWAYieldEnv) -> NDArray[Any]:
        config = env.config
        key = (env.rows, config.min_weight, config.max_weight, config.actions)
        if key not in known:
            weights = project(np.array([wanted]), config.min_weight, config.max_weight)
            known.clear()
            known[key] = env.actions_for(np.repeat(weights, env.rows, axis=0))
            known[key].flags.writeable = False
        return known[key]

    return play


def _daily(rule: Callable[[Floats, float, float], Floats]) -> Play:
    """The weights of `rule`, given the growth of the last hours and the bounds, at the first hour of each day."""

    def play(env: RWAYieldEnv) -> NDArray[Any]:
        actions, config = env.holding_actions(), env.config
        due = np.flatnonzero(env.hours % DECISION_HOURS == 0)
        if len(due):
            past = env.past_growth(WINDOW, due)
            actions[due] = env.actions_for(rule(past, config.min_weight, config.max_weight))
        return actions

    return play


def _minimum_variance(past: Floats, low: float, high: float) -> Floats:
    return allocation.minimum_variance(allocation.covariance(past), low, high)


def _risk_parity(past: Floats, low: float, high: float) -> Floats:
    return allocation.risk_parity(allocation.covariance(past), low, high)


def _volatility_targeting(past: Floats, low: float, high: float) -> Floats:
    return allocation.volatility_target(allocation.covariance(past), low, high)


STRATEGIES: dict[str, Callable[[Any], NDArray[Any]]] = {
    "equal_weight": _fixed(1 / 3, 1 / 3, 1 / 3),
    **{f"{name}_only": _fixed(*np.eye(len(ASSETS))[asset].tolist()) for asset, name in enumerate(ASSETS)},
    "buy_and_hold": buy_and_hold,
    "minimum_variance": _daily(_minimum_variance),
    "risk_parity": _daily(_risk_parity),
    "momentum": _daily(allocation.momentum),
    "volatility_targeting": _daily(_volatility_targeting),
    "noop": buy_and_hold,
}
