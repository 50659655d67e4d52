"""Reward functions of a borrower, by their names in the configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mayavi.gym_env.lending.env import LendingRowsEnv
    from mayavi.gym_env.rows import Floats

LIQUIDATED = -1.0
"""Reward of a liquidation, which ends the episode."""
HIGHEST_HEALTH = 3.0
"""Cap of the health factor; also its value without debt."""
NEEDLESS_HEALTH = 2.0
NEEDLESS_COST = 0.01
"""Cost per step, in `health`, of each unit of health factor above `NEEDLESS_HEALTH`: idle collateral."""

GUARDED_HEALTH = 1.15
THIN_COST = 0.02
"""Cost, in `guarded`, of a step that ends at a health factor of one; falls linearly to zero at `GUARDED_HEALTH`."""


def net_wealth(env: LendingRowsEnv[Any]) -> Floats:
    """Relative change of net wealth over the episode, in the last step; else zero."""
    start = np.maximum(env.columns["start_wealth_e8"], 1.0)
    gained: Floats = (env.net_wealth_e8() - start) / start
    return np.where(env.steps >= env.config.horizon, gained, 0.0)


def carry(env: LendingRowsEnv[Any]) -> Floats:
    """Change of net wealth in each step at a constant collateral price, relative to the initial wealth.

    The borrower cannot sell its collateral, so price changes are noise that no action influences. Without this noise
    policies learn faster, and the sum over an episode ranks them as `net_wealth` does.
    """
    columns, start = env.columns, np.maximum(env.columns["start_wealth_e8"], 1.0)
    by_price = columns["last_collateral"] * (env.figure("price_e8") - columns["last_price_e8"]) / env.adapter.unit
    earned: Floats = (env.net_wealth_e8() - columns["last_wealth_e8"] - by_price) / start
    return earned


def guarded(env: LendingRowsEnv[Any]) -> Floats:
    """`carry` minus a penalty for health factors below `GUARDED_HEALTH`.

    Liquidations are rare and cost a thousand steps of interest, so a policy learns little from them. Near misses are
    frequent: from the penalty a policy learns to avoid both.
    """
    missing: Floats = np.maximum(GUARDED_HEALTH - env.health(), 0.0) / (GUARDED_HEALTH - 1.0)
    return carry(env) - THIN_COST * missing


def health(env: LendingRowsEnv[Any]) -> Floats:
    """Change of the health factor in each step, minus the cost of idle collateral."""
    now, before = (np.minimum(each, HIGHEST_HEALTH) for each in (env.health(), env.columns["last_health"]))
    idle: Floats = np.maximum(now - NEEDLESS_HEALTH, 0.0)
    return now - before - NEEDLESS_COST * idle


REWARDS: dict[str, Callable[[LendingRowsEnv[Any]], Floats]] = {
    "net_wealth": net_wealth,
    "carry": carry,
    "guarded": guarded,
    "health": health,
}
