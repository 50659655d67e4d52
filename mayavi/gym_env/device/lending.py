"""Borrower environments on a device: the planes of their steps, and the starts of their episodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.gym_env.device.wiring import WORD_LIMBS, Limbs, PlaneTable, Wiring
from mayavi.gym_env.lending.env import LendingRowsEnv
from mayavi.gym_env.lending.observations import OBSERVED
from mayavi.gym_env.lending.programs import FIGURES
from mayavi.gym_env.lending.state import RowState

if TYPE_CHECKING:
    from mayavi.gym_env.rows import RowsEnv

EXACT = ("debt", "headroom")
"""Figures of the last step that the next one takes as they are."""


def whole_environment(kind: type[RowsEnv[Any]]) -> type[LendingRowsEnv[Any]]:
    """The same environment with steps that are one program, however many rows it has."""
    if not issubclass(kind, LendingRowsEnv):
        raise UsageError(
            f"'{kind.name}' does not run on a device: its step is not one program from action to reward",
            "leave the device out; borrower environments run there: aave, aave-shock, compound",
        )
    # Paths of other processes would come in another order: the driver finds a kernel by its text.
    return type(kind.__name__, (kind,), {"most_whole_rows": 1 << 40, "keeps_paths": False})


def wired(env: LendingRowsEnv[Any]) -> list[Wiring]:
    """Planes of the parts of a step: borrower, market, liquidator, and what is made of it all."""
    table = PlaneTable()
    borrower, market, liquidator, judge = parts = [Wiring(program, table) for program in env.step_parts()]
    for each in parts:
        each.fix_input("live", 1)
    for name in EXACT:
        borrower.add_input(name, limbs=WORD_LIMBS)
    borrower.add_input("action")
    market.add_input("cash_yield_ppm")
    if env.feed is not None:
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


RENEWED = (*EXACT, "steps", "cash_yield_ppm", "figures", "state")
"""Planes that the start of an episode sets."""


def begun(env: LendingRowsEnv[Any], table: PlaneTable, rows: slice) -> tuple[Limbs, NDArray[np.float32]]:
    """What a step is given at the start of the episodes of `rows`, and their observations."""
    columns, count = env.columns, rows.stop - rows.start
    given = np.zeros((table.count, count), dtype=np.uint64)
    for name in EXACT:
        given[table.planes[name]] = env.exactly(name).limbs()[rows].T[::-1]
    floats = {
        "cash_yield_ppm": columns["cash_yield_ppm"][rows, None],
        "figures": columns["figures"][rows],
        "state": env.state[rows],
    }
    for name, values in floats.items():
        given[table.planes[name]] = np.ascontiguousarray(values.T, dtype=np.float64).view(np.uint64)
    return given, np.asarray(columns["observed"][rows])
