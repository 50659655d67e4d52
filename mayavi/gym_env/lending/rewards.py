"""Reward functions of a borrower, by their names in the configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mayavi.evm.fleet import Word
from mayavi.evm.float_word import FloatWord
from mayavi.gym_env.lending.state import Moment, RowState

LIQUIDATED = -1.0
"""Reward of a liquidation, which ends the episode."""
HIGHEST_HEALTH = 3.0
"""Cap of the health factor in `health`."""
NEEDLESS_HEALTH = 2.0
NEEDLESS_COST = 0.01
"""Cost per step, in `health`, of each unit of health factor above `NEEDLESS_HEALTH`: idle collateral."""

GUARDED_HEALTH = 1.15
THIN_COST = 0.02
"""Cost, in `guarded`, of a step that ends at a health factor of one; falls linearly to zero at `GUARDED_HEALTH`."""


class Played(NamedTuple):
    """A step: the row after it."""

    now: Moment
    state: RowState
    is_last: Word
    """Whether it was the last step of the episode."""
    unit: int
    """Smallest units of a whole token of collateral."""


def net_wealth(step: Played) -> FloatWord:
    """Relative change of net wealth over the episode, in the last step; else zero."""
    start = step.state.start_wealth_e8.at_least(1.0)
    return ((step.now.net_wealth_e8 - start) / start).where(step.is_last, 0.0)


def carry(step: Played) -> FloatWord:
    """Change of net wealth in each step at a constant collateral price, relative to the initial wealth.

    The borrower cannot sell its collateral, so price changes are noise that no action influences. Without this noise
    policies learn faster, and the sum over an episode ranks them as `net_wealth` does.
    """
    now, state = step.now, step.state
    by_price = state.last_collateral * (now.price_e8 - state.last_price_e8) / step.unit
    return (now.net_wealth_e8 - state.last_wealth_e8 - by_price) / state.start_wealth_e8.at_least(1.0)


def guarded(step: Played) -> FloatWord:
    """`carry` minus a penalty for health factors below `GUARDED_HEALTH`.

    Liquidations are rare and cost a thousand steps of interest, so a policy learns little from them. Near misses are
    frequent: from the penalty a policy learns to avoid both.
    """
    missing = (GUARDED_HEALTH - step.now.health).at_least(0.0) / (GUARDED_HEALTH - 1.0)
    return carry(step) - THIN_COST * missing


def health(step: Played) -> FloatWord:
    """Change of the health factor in each step, minus the cost of idle collateral."""
    now, before = (each.at_most(HIGHEST_HEALTH) for each in (step.now.health, step.state.last_health))
    idle = (now - NEEDLESS_HEALTH).at_least(0.0)
    return now - before - NEEDLESS_COST * idle


REWARDS: dict[str, Callable[[Played], FloatWord]] = {
    "net_wealth": net_wealth,
    "carry": carry,
    "guarded": guarded,
    "health": health,
}
