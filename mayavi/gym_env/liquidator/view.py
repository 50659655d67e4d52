"""View of a liquidator on the loans: observations, expected profits and scripted strategies.

Stateless: a view is made from the loans and the money of one liquidator in each row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from mayavi.agents.quantities import MILLION
from mayavi.gym_env.liquidator.actions import SHARES, encode
from mayavi.gym_env.liquidator.config import LiquidatorConfig
from mayavi.gym_env.liquidator.loans import ALL_BPS, Accounts, Loans
from mayavi.gym_env.roles import Floats, Observations, clip_observations
from mayavi.markets.process import SECONDS_PER_YEAR
from mayavi.numerics import portable

GAS_OF_BOTH = 520_000
"""Expected gas of a liquidation and its sale, for observations; rewards use the gas that was used."""


def observation_space(config: LiquidatorConfig) -> spaces.Box:
    """Bounds of the entries of `LiquidatorView.observe`."""
    low = [0, -10, -10, -10, 0, 0, 0, 0, *[-10, 0, 0, 0, -10] * config.borrowers]
    high = [1, 10, 10, 10, 10, 10, 1, 10, *[10, 10, 10, 10, 10] * config.borrowers]
    return spaces.Box(np.array(low, dtype=np.float32), np.array(high, dtype=np.float32))


@dataclass(frozen=True, slots=True)
class LiquidatorView:
    """View of one liquidator in each row."""

    loans: Loans
    accounts: Accounts
    money_usd: Floats
    """(rows,)"""
    space: spaces.Box

    def observe(self) -> Observations:
        """(rows, entries) as the table of `AaveLiquidatorRows` describes them."""
        loans, columns, accounts = self.loans, self.loans.env.columns, self.accounts
        price, debts, scale = loans.price(), np.maximum(columns["debts_usd"], 1e-6), loans.scale_usd
        step_years = loans.config.step_blocks * loans.block_seconds / SECONDS_PER_YEAR
        common = (
            1 - loans.env.steps / loans.config.horizon,
            5 * portable.log(price / loans.start_price()),
            20 * portable.log(price / loans.price(-1)),
            100 * portable.log(np.maximum(loans.trades.price_of(loans.words("root").words), 1e-8) / price),
            self.money_usd / debts,
            100 * loans.gas_usd(float(GAS_OF_BOTH)) / scale,
            columns["recovery_ppm"] / MILLION,
            50 * columns["volatility"] * step_years**0.5,
        )
        paid, against_depth, profit = self.sales(1.0)
        each = np.stack(
            (
                10 * (accounts.health - 1),
                accounts.debt / debts[:, None],
                paid / debts[:, None],
                10 * against_depth,
                10 * profit / scale[:, None],
            ),
            axis=2,
        )
        ordered = np.take_along_axis(each, accounts.ranked[:, :, None], axis=1)
        seen = np.concatenate((np.stack(common, axis=1), ordered.reshape(len(price), -1)), axis=1)
        return clip_observations(self.space, seen)

    def sales(self, share: float) -> tuple[Floats, Floats, Floats]:
        """Dollars repaid, seized collateral over pool depth, and profit, if `share` of the largest repayment is paid.

        (rows, accounts) each. The profit is computed from the present liquidity of the pool, less gas.
        """
        loans, accounts = self.loans, self.accounts
        price = loans.price()[:, None]
        paid = np.minimum(accounts.most_usd * share, self.money_usd[:, None])
        bonus, kept = loans.bonus_bps / ALL_BPS, 1 - loans.fee_bps / ALL_BPS
        gross = np.minimum(paid / price * bonus, accounts.collateral)
        paid = np.minimum(paid, gross * price / bonus)
        seized = gross / bonus * (1 + (bonus - 1) * kept)
        root = loans.words("root").words
        depth = np.maximum(loans.trades.depth(root, loans.words("liquidity").words), 1e-9)[:, None]
        received = loans.trades.quote(root, seized)
        gas = loans.gas_usd(float(GAS_OF_BOTH))[:, None]
        return paid, seized / depth, np.where(paid > 0, received - paid - gas, 0.0)

    def wait(self) -> NDArray[Any]:
        """Actions that do nothing."""
        rows = len(self.money_usd)
        return encode(self.loans.config, np.zeros(rows, dtype=np.int64), np.zeros(rows))

    def greedy(self, choices: Sequence[int]) -> NDArray[Any]:
        """Repay the account with the share of `SHARES[choices]` of largest expected profit; wait if there is none."""
        rows = len(self.money_usd)
        profits = np.stack([self.sales(SHARES[each])[2] for each in choices], axis=2)
        profits = np.take_along_axis(profits, self.accounts.ranked[:, :, None], axis=1).reshape(rows, -1)
        best = profits.argmax(axis=1)
        rank, which = np.divmod(best, len(choices))
        share = np.array([SHARES[each] for each in choices])[which]
        return encode(self.loans.config, rank, np.where(profits[np.arange(rows), best] > 0, share, 0.0))


STRATEGIES: dict[str, Callable[[LiquidatorView], NDArray[Any]]] = {
    "close_factor_max": lambda view: view.greedy((len(SHARES) - 1,)),
    "best_share": lambda view: view.greedy(range(len(SHARES))),
    "noop": LiquidatorView.wait,
}
"""Scripted liquidators by name."""
