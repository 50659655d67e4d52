"""How the rows of a borrower environment are stepped: by one program as a whole, or with arrays around it.

Both give the same bits. A program computes observations row by row, which saves the array calls of a step; arrays
compute them for many rows at once. On the benchmark machine both take equally long at about 64 rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.evm.fleet import Outcome
from mayavi.gym_env.lending.arrays import SINCE_LAST, logarithms, observations, rewards
from mayavi.gym_env.lending.observations import OBSERVED
from mayavi.gym_env.lending.programs import BILLION, MILLION
from mayavi.gym_env.lending.state import TREND_MEMORY
from mayavi.markets.process import SECONDS_PER_YEAR

if TYPE_CHECKING:
    from mayavi.gym_env.lending.env import LendingRowsEnv
    from mayavi.gym_env.rows import Floats, Observations, Rows

Integers = NDArray[np.int64]
Inputs = dict[str, Any]


class WholeSteps:
    """Steps whose programs decode actions, and hand back observations, rewards and the rows' state."""

    def __init__(self, env: LendingRowsEnv[Any]) -> None:
        self.env = env
        env.columns["observed"] = np.zeros((env.rows, len(OBSERVED)), dtype=np.float32)
        self._rewards: Floats = np.zeros(env.rows)

    def inputs(self, actions: NDArray[Any], live: NDArray[np.bool_]) -> Inputs:
        """Inputs of a step."""
        env, columns = self.env, self.env.columns
        given = {"action": actions, "figures": columns["figures"], "state": env.state, "steps": env.steps}
        return given | {name: columns[name] for name in ("cash_yield_ppm", "liquidated")}

    def after_step(self, found: Outcome, live: NDArray[np.bool_]) -> None:
        """Store the outputs of a step."""
        self.env.state[:] = found.arrays["state"]
        self.env.columns["observed"] = found.arrays["observation"]
        self._rewards = found.arrays["reward"][:, 0]

    def opening_inputs(self, rows: Rows) -> Inputs:
        """Inputs of an opening, besides those of its start."""
        return {name: self.env.columns[name][rows] for name in ("volatility", "cash_yield_ppm")}

    def after_opening(self, found: Outcome, rows: Rows) -> None:
        """Store the outputs of the opening of `rows`."""
        self.env.state[rows] = found.arrays["state"]
        self.env.columns["observed"][rows] = found.arrays["observation"]

    def observe(self) -> Observations:
        """Observations of all rows."""
        seen: Observations = self.env.columns["observed"].copy()
        return seen

    def rewards(self) -> Floats:
        """Rewards of the last step."""
        return self._rewards


class ArraySteps:
    """Steps whose programs act and read figures; the rest is computed by arrays."""

    def __init__(self, env: LendingRowsEnv[Any]) -> None:
        self.env = env

    def inputs(self, actions: NDArray[Any], live: NDArray[np.bool_]) -> Inputs:
        """Inputs of a step, after the present figures of `live` rows are saved as those of the last step."""
        self._remember(slice(None) if live.all() else live)
        shares, columns = self.env.shares_of(actions) * live, self.env.columns
        a_year: Integers = np.abs(columns["cash_yield_ppm"]) * (BILLION // MILLION)
        return {
            "repay_ppm": np.maximum(-shares, 0),
            "borrow_ppm": np.maximum(shares, 0),
            "yield_ppb": a_year * self.env.step_seconds // SECONDS_PER_YEAR * live,
            "pays": columns["cash_yield_ppm"] < 0,
        }

    def after_step(self, found: Outcome, live: NDArray[np.bool_]) -> None:
        """Update the returns and the trend of `live` rows."""
        columns = self.env.columns
        columns["logs"][:] = logarithms(self.env)
        change = columns["logs"][:, SINCE_LAST]
        trend = TREND_MEMORY * columns["trend"] + (1.0 - TREND_MEMORY) * change
        np.copyto(columns["last_return"], change, where=live)
        np.copyto(columns["trend"], trend, where=live)

    def opening_inputs(self, rows: Rows) -> Inputs:
        """Inputs of an opening, besides those of its start."""
        return {}

    def after_opening(self, found: Outcome, rows: Rows) -> None:
        """Save the figures of `rows` as those of the start and of the last step."""
        columns = self.env.columns
        self._remember(rows)
        columns["start_price_e8"][rows] = columns["last_price_e8"][rows]
        columns["start_wealth_e8"][rows] = columns["last_wealth_e8"][rows]
        columns["logs"][rows] = logarithms(self.env, rows)

    def observe(self) -> Observations:
        """Observations of all rows."""
        return observations(self.env)

    def rewards(self) -> Floats:
        """Rewards of the last step."""
        return rewards(self.env)

    def _remember(self, which: slice | Rows | NDArray[np.bool_]) -> None:
        """Save the present figures of the rows `which` as those of the last step."""
        env = self.env
        values = {
            "last_wealth_e8": env.net_wealth_e8(),
            "last_price_e8": env.figure("price_e8"),
            "last_collateral": env.figure("collateral"),
            "last_health": env.health(),
        }
        for name, figures in values.items():
            env.columns[name][which] = figures[which]
