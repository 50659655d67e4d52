"""Borrower environments on a device: the planes of their steps, and the starts of their episodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.evm.fleet import SUCCESS
from mayavi.gym_env.device.steps import DeviceSteps, Table, put_floats
from mayavi.gym_env.device.wiring import WORD_LIMBS, Limbs, PlaneTable, Wiring
from mayavi.gym_env.lending.env import LendingRowsEnv
from mayavi.gym_env.lending.observations import OBSERVED
from mayavi.gym_env.lending.programs import FIGURES
from mayavi.gym_env.lending.state import RowState

EXACT = ("debt", "headroom")
"""Figures of the last step that the next one takes as they are."""


class BorrowerSteps(DeviceSteps[LendingRowsEnv[Any]]):
    """Borrower, market, liquidator, then observation and reward."""

    settings = {"most_whole_rows": 1 << 40}  # noqa: RUF012
    renewed = (*EXACT, "steps", "cash_yield_ppm", "figures", "state")
    over = ("liquidation", SUCCESS)

    def wired(self) -> list[Wiring]:
        """Planes of the parts of a step."""
        table, has_feed = PlaneTable(), self.env.feed is not None
        borrower, market, liquidator, judge = parts = [Wiring(program, table) for program in self.env.step_parts()]
        for each in parts:
            each.fix_input("live", 1)
        for name in EXACT:
            borrower.add_input(name, limbs=WORD_LIMBS)
        borrower.add_input("action")
        market.add_input("cash_yield_ppm")
        if has_feed:
            market.add_input("price_e8")
            liquidator.add_input("price_e8")
        liquidator.add_output("liquidated", plane="liquidation")
        for name in ("liquidation", "cash_yield_ppm", "steps"):
            judge.add_input(name)
        judge.add_input("figures", count=len(FIGURES))
        judge.add_input("state", count=len(RowState._fields))
        judge.fix_input("liquidated", 0)
        judge.add_output("reward", plane="reward")
        for name in EXACT:
            judge.feed_back(name, name, limbs=WORD_LIMBS)
        judge.feed_back("state", "state")
        judge.feed_back_rounded(FIGURES, "figures")
        judge.add_singles("observation", len(OBSERVED))
        return parts

    def begun(self, table: PlaneTable, starts: int) -> tuple[Limbs, NDArray[np.float32]]:
        """Exact figures, floats and observations of an opening."""
        env, columns = self.env, self.env.columns
        given = np.zeros((table.count, starts), dtype=np.uint64)
        for name in EXACT:
            given[table.planes[name]] = env.exactly(name).limbs()[:starts].T[::-1]
        floats = {name: columns[name][:starts] for name in ("cash_yield_ppm", "figures")}
        put_floats(given, table, floats | {"state": env.state[:starts]})
        return given, np.asarray(columns["observed"][:starts])

    def tables(self, starts: int) -> dict[str, Table]:
        """The price that each step posts."""
        if self.env.feed is None:
            return {}
        return {"price_e8": Table(1, self.env.columns["path_e8"][None, :starts].astype(np.uint64))}
