"""Borrowers of a market: observations, actions and rewards."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from mayavi.agents.quantities import MILLION
from mayavi.evm.units import WAD
from mayavi.gym_env.lending import strategies as lending_strategies
from mayavi.gym_env.lending.env import FIVE_SHARES, nearest_actions
from mayavi.gym_env.liquidator.loans import ALL_BPS
from mayavi.gym_env.market.config import BORROWER, MarketConfig
from mayavi.gym_env.roles import Floats, Observations, Role, Script, clip_observations
from mayavi.numerics import portable

if TYPE_CHECKING:
    from mayavi.gym_env.market.rows import AaveMarketRows

_RAY = 10**27
_LOG_10 = float(portable.log(10.0))
_HIGHEST_HEALTH = 10.0
"""Cap of the health factor, as in `LendingRowsEnv.health`."""
OBSERVED: tuple[tuple[str, float, float, str], ...] = (
    ("debt_to_limit", 0.0, 2.0, "debt over the debt at which it is liquidated; 1 / health factor"),
    ("debt_to_value", 0.0, 2.0, "debt over collateral"),
    ("cash_to_value", 0.0, 2.0, "dollars in the wallet over collateral"),
    ("headroom_to_value", 0.0, 1.0, "what may still be borrowed over collateral"),
    ("price", -10.0, 10.0, "five times the logarithm of the price over that of the start"),
    ("last_return", -10.0, 10.0, "twenty times the logarithm of the price over that of the step before"),
    ("pool", -10.0, 10.0, "a hundred times the logarithm of the pool's price over the reference price"),
    ("borrow_rate", 0.0, 10.0, "what debt costs a year, in tenths"),
    ("cash_yield", -10.0, 10.0, "what dollars in the wallet earn a year, in tenths"),
    ("wealth", -10.0, 10.0, "ten times (net wealth over that of the start, less one)"),
    ("size", 0.0, 2.0, "logarithm to base ten of the collateral in dollars, in tenths"),
    ("threat", 0.0, 10.0, "the money of all liquidators over all debts of the start"),
    ("others", 0.0, 1.0, "the share of the other borrowers that can be liquidated"),
    ("time_left", 0.0, 1.0, "the share of the horizon that is left"),
)
"""Name, bounds and meaning of every entry of an observation; values are clipped to the bounds."""


class Borrowers:
    """Borrowers of all rows of `market`; arrays are (rows, borrowers).

    A borrower has the five discrete actions of the borrower environments: do nothing, repay a quarter of the debt,
    repay as much as possible, borrow a quarter of the headroom, borrow half of it. A continuous action is one number
    from -1 to 1: below zero the share of the debt to repay, above zero the share of the headroom to borrow. The reward
    at the end is the relative change of net wealth. A liquidation gives -1 and terminates the agent; its account stays
    in the market.
    """

    def __init__(self, market: AaveMarketRows, config: MarketConfig) -> None:
        self.market, self.config = market, config
        lows, highs = np.array([each[1:3] for each in OBSERVED], dtype=np.float32).T
        discrete = config.actions == "discrete"
        self.role = Role(
            BORROWER,
            config.borrowers,
            spaces.Box(lows, highs, dtype=np.float32),
            spaces.Discrete(len(FIVE_SHARES)) if discrete else spaces.Box(-1.0, 1.0, (1,), np.float32),
            STRATEGIES,
            reference="noop",
        )

    def columns(self, rows: int) -> dict[str, NDArray[Any]]:
        """Columns of the borrowers."""
        count = self.config.borrowers
        return {
            "cash_yield_ppm": np.zeros((rows, count), dtype=np.int64),
            "start_wealth_e8": np.zeros((rows, count), dtype=np.int64),
            "liquidated": np.zeros((rows, count), dtype=np.bool_),
        }

    def shares_ppm(self, actions: NDArray[Any]) -> NDArray[np.int64]:
        """Convert actions to millionths: negative of the debt to repay, positive of the headroom to borrow."""
        if self.config.actions == "discrete":
            return np.asarray(np.array(FIVE_SHARES, dtype=np.int64)[actions])
        return np.asarray(np.rint(actions[..., 0] * MILLION).astype(np.int64))

    def rewards(self) -> Floats:
        """-1 if liquidated, the relative change of net wealth at the horizon, else zero."""
        columns, last = self.market.columns, (self.market.steps >= self.config.horizon)[:, None]
        start = np.maximum(columns["start_wealth_e8"], 1)
        return np.where(columns["liquidated"], -1.0, np.where(last, (self.net_wealth_e8() - start) / start, 0.0))

    def net_wealth_e8(self) -> NDArray[np.int64]:
        """Collateral plus cash minus debt."""
        return self.market.loans.integers("assets") - self.market.loans.integers("owed")

    def health_factors(self) -> Floats:
        """Health factors; huge without debt."""
        return self.market.loans.floats("health", WAD)

    def figures(self) -> dict[str, Floats]:
        """What scripts look at, by the names of `LendingRowsEnv.figure`."""
        loans = self.market.loans
        owed, value = loans.integers("owed").astype(np.float64), loans.integers("value").astype(np.float64)
        rate_wad = loans.words("borrow_rate_ray").float64(_RAY // WAD)[:, None]
        return {
            "debt_value_e8": owed,
            "limit_e8": value * loans.threshold_bps / ALL_BPS,
            "borrow_rate_wad": np.broadcast_to(rate_wad, owed.shape),
            "headroom_value_e8": loans.floats("headroom", 1) * (loans.book.debt.price_usd_e8 / loans.book.debt_unit),
        }

    def observe(self) -> Observations:
        """(rows, borrowers, entries) as `OBSERVED` lists them."""
        market, loans, config, columns = self.market, self.market.loans, self.config, self.market.columns
        price = loans.price()[:, None]
        value = np.maximum(loans.integers("value"), 1).astype(np.float64)
        owed, unit = loans.integers("owed"), loans.trades.money_unit
        limit = value * loans.threshold_bps / ALL_BPS
        money = sum(loans.words(f"money_{at}").float64(unit) for at in range(config.liquidators))
        danger = loans.accounts().liquidatable
        others = (danger.sum(axis=1, keepdims=True) - danger) / max(config.borrowers - 1, 1)
        pool = np.maximum(loans.trades.price_of(loans.words("root").words), 1e-8)[:, None]
        wealth = self.net_wealth_e8() / np.maximum(columns["start_wealth_e8"], 1) - 1
        dollars = 10**8 / unit
        entries = (
            np.where(owed > 0, owed / np.maximum(limit, 1), 0.0),
            owed / value,
            loans.floats("cash", 1) * dollars / value,
            loans.floats("headroom", 1) * dollars / value,
            5 * portable.log(price / loans.start_price()[:, None]),
            20 * portable.log(price / loans.price(-1)[:, None]),
            100 * portable.log(pool / price),
            10 * loans.words("borrow_rate_ray").float64(_RAY)[:, None],
            10 * columns["cash_yield_ppm"] / MILLION,
            10 * wealth,
            portable.log(np.maximum(value / 10**8, 1.0)) / (10 * _LOG_10),
            (money / np.maximum(columns["debts_usd"], 1e-6))[:, None],
            others,
            (1 - market.steps / config.horizon)[:, None],
        )
        return clip_observations(self.role.observation_space, np.stack(np.broadcast_arrays(*entries), axis=2))


class BorrowersAsRows:
    """All borrowers of all rows as one batch, for the scripts of `LendingRowsEnv`."""

    def __init__(self, borrowers: Borrowers) -> None:
        self._borrowers = borrowers
        self.rows = borrowers.market.rows * borrowers.config.borrowers

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """Columns that the scripts read."""
        return {"cash_yield_ppm": self._borrowers.market.columns["cash_yield_ppm"].ravel()}

    def actions_for(self, shares_ppm: NDArray[Any]) -> NDArray[Any]:
        """The actions nearest to `shares_ppm`."""
        return nearest_actions(shares_ppm, FIVE_SHARES, continuous=self._borrowers.config.actions == "continuous")

    def health(self) -> Floats:
        """Health factors, capped at 10; also 10 without debt."""
        return np.minimum(self._borrowers.health_factors().ravel(), _HIGHEST_HEALTH)

    def figure(self, name: str) -> Floats:
        """A figure of every borrower, by its name in `LendingRowsEnv`."""
        return self._borrowers.figures()[name].ravel()

    def headroom_value_e8(self) -> Floats:
        """Value of the headroom."""
        return self.figure("headroom_value_e8")


def _script(script: Callable[[Any], NDArray[Any]]) -> Script:
    def play(market: AaveMarketRows) -> NDArray[Any]:
        actions = script(BorrowersAsRows(market.borrowers))
        return actions.reshape(market.rows, market.config.borrowers, *actions.shape[1:])

    return play


STRATEGIES: dict[str, Script] = {name: _script(script) for name, script in lending_strategies.STRATEGIES.items()}
"""Scripts of the borrower environments, played by each borrower."""
