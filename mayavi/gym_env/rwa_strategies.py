"""Scripted portfolios: what a policy is compared with. Each gives the actions of all rows, in the env's own space."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.gym_env.capped_simplex import project
from mayavi.markets.rwa_data import ASSETS

if TYPE_CHECKING:
    from mayavi.gym_env.rwa_yield import RWAYieldEnv


def buy_and_hold(env: RWAYieldEnv) -> NDArray[Any]:
    """Trades nothing but what the bounds ask for."""
    return env.holding_actions()


def equal_weight(env: RWAYieldEnv) -> NDArray[Any]:
    """A third of each, every hour."""
    return env.actions_for(np.full((env.rows, len(ASSETS)), 1 / len(ASSETS)))


def _only(asset: int) -> Callable[[RWAYieldEnv], NDArray[Any]]:
    """As much of one asset as may be, and the others alike."""

    def play(env: RWAYieldEnv) -> NDArray[Any]:
        wanted = np.zeros((1, len(ASSETS)))
        wanted[0, asset] = 1.0
        weights = project(wanted, env.config.min_weight, env.config.max_weight)
        return env.actions_for(np.repeat(weights, env.rows, axis=0))

    return play


STRATEGIES: dict[str, Callable[[Any], NDArray[Any]]] = {
    "equal_weight": equal_weight,
    **{f"{name}_only": _only(asset) for asset, name in enumerate(ASSETS)},
    "buy_and_hold": buy_and_hold,
    "noop": buy_and_hold,
}
