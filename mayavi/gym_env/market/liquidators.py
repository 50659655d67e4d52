"""Liquidators of a market: observations, actions and rewards. Each has its own money."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.gym_env.liquidator import view
from mayavi.gym_env.liquidator.actions import action_space
from mayavi.gym_env.liquidator.view import LiquidatorView, observation_space
from mayavi.gym_env.market.config import LIQUIDATOR, MarketConfig
from mayavi.gym_env.roles import Floats, Observations, Role, Script

if TYPE_CHECKING:
    from mayavi.gym_env.market.rows import AaveMarketRows


class Liquidators:
    """Liquidators of all rows of `market`; arrays are (rows, liquidators).

    Actions, observations and rewards are those of `AaveLiquidatorRows`. Liquidators are done when no borrower acts and
    no debt has collateral left.
    """

    def __init__(self, market: AaveMarketRows, config: MarketConfig) -> None:
        self.market, self.config = market, config
        self.role = Role(
            LIQUIDATOR,
            config.liquidators,
            observation_space(config),
            action_space(config),
            STRATEGIES,
            reference="close_factor_max",
        )

    def columns(self, rows: int) -> dict[str, NDArray[Any]]:
        """Columns of the liquidators."""
        return {"earned": np.zeros((rows, self.config.liquidators))}

    def views(self) -> list[LiquidatorView]:
        """Present view of each liquidator on the loans."""
        loans, space = self.market.loans, self.role.observation_space
        accounts, unit = loans.accounts(), loans.trades.money_unit
        return [
            LiquidatorView(loans, accounts, loans.words(f"money_{at}").float64(unit), space)
            for at in range(self.config.liquidators)
        ]

    def observe(self) -> Observations:
        """(rows, liquidators, entries) as the table of `AaveLiquidatorRows` lists them."""
        return np.stack([each.observe() for each in self.views()], axis=1)

    def done(self) -> NDArray[np.bool_]:
        """Whether no borrower acts any more and no debt has collateral: (rows,)."""
        loans = self.market.loans
        prize = loans.of_accounts("debt").any(axis=2) & loans.accounts().backed
        return np.asarray(~(prize | ~self.market.columns["liquidated"]).any(axis=1))

    def profits(self, order: NDArray[np.int64], price: Floats) -> Floats:
        """Scaled profit of the last step, with gas at `price`; `order` is the execution order of the agents."""
        columns, loans, first = self.market.columns, self.market.loans, self.config.borrowers
        paid, received, gas = (
            self.market.by_agent(kind, order)[:, first:].astype(np.float64) for kind in ("paid", "received", "gas")
        )
        fees = gas * columns["gas_price_wei"][:, None] / 10**18 * price[:, None]
        return np.asarray(((received - paid) / loans.trades.money_unit - fees) / loans.scale_usd[:, None])

    def rewards(self, profits: Floats, done: NDArray[np.bool_]) -> Floats:
        """`profits` of each step, or their sum in the last step."""
        if self.config.reward != "at_end":
            return profits
        last = done | (self.market.steps >= self.config.horizon)
        return np.where(last[:, None], self.market.columns["earned"], 0.0)


def _script(script: Callable[[LiquidatorView], NDArray[Any]]) -> Script:
    return lambda market: np.stack([script(each) for each in market.liquidators.views()], axis=1)


STRATEGIES: dict[str, Script] = {
    name: _script(view.STRATEGIES[name]) for name in ("noop", "close_factor_max", "best_share")
}
"""Scripts of `AaveLiquidatorRows`, played by each liquidator."""
