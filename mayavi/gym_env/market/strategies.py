"""Scripted agents of a market, by their role: what a policy is compared with.

Borrowers play the scripts of the borrower's environments, liquidators those of `AaveLiquidatorEnv`, each agent for
itself. A script gives the actions of all agents of its role: (rows, agents), and the shape of an action.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.gym_env.lending import strategies as lending_strategies
from mayavi.gym_env.lending.env import FIVE_SHARES, nearest_actions
from mayavi.gym_env.liquidator.env import AaveLiquidatorEnv

if TYPE_CHECKING:
    from mayavi.gym_env.market.rows import AaveMarketRows
    from mayavi.gym_env.rows import Floats

Script = Callable[["AaveMarketRows"], NDArray[Any]]
_HIGHEST_HEALTH = 10.0
"""As `LendingRowsEnv.health` has it."""


class BorrowersAsRows:
    """All borrowers of all rows in one line, as the scripts of a single borrower look at theirs."""

    def __init__(self, market: AaveMarketRows) -> None:
        self._market = market
        self.rows = market.rows * market.config.borrowers

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """What is remembered of each."""
        return {"cash_yield_ppm": self._market.columns["cash_yield_ppm"].ravel()}

    def actions_for(self, shares_ppm: NDArray[Any]) -> NDArray[Any]:
        """The actions that come nearest to `shares_ppm`."""
        return nearest_actions(shares_ppm, FIVE_SHARES, continuous=self._market.config.actions == "continuous")

    def health(self) -> Floats:
        """The health factor, at most 10, which stands for no debt too."""
        return np.minimum(self._market.health_factors().ravel(), _HIGHEST_HEALTH)

    def figure(self, name: str) -> Floats:
        """A figure of every borrower, by the name it has for a single one."""
        return self._market.borrower_figures()[name].ravel()

    def headroom_value_e8(self) -> Floats:
        """What may still be borrowed."""
        return self.figure("headroom_value_e8")


def _of_borrowers(script: Callable[[Any], NDArray[Any]]) -> Script:
    def play(market: AaveMarketRows) -> NDArray[Any]:
        actions = script(BorrowersAsRows(market))
        return actions.reshape(market.rows, market.config.borrowers, *actions.shape[1:])

    return play


def _of_liquidators(script: Callable[[Any], NDArray[Any]]) -> Script:
    return lambda market: market.each_liquidator(lambda: script(market))


BORROWERS: dict[str, Script] = {name: _of_borrowers(script) for name, script in lending_strategies.STRATEGIES.items()}
LIQUIDATORS: dict[str, Script] = {
    name: _of_liquidators(AaveLiquidatorEnv.strategies[name]) for name in ("noop", "close_factor_max", "best_share")
}
