"""The vesting environment on a device: the planes of its steps, and the starts of its episodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mayavi.evm.words import Words
from mayavi.gym_env.device.steps import DeviceSteps, Table, as_limbs, put_floats
from mayavi.gym_env.device.wiring import WORD_LIMBS, Limbs, PlaneTable, Wiring
from mayavi.gym_env.vesting.env import VestingRows
from mayavi.gym_env.vesting.parts import ENTRIES, step_parts

FLOATS = ("inventory", "step_volatility", "pull")
NUMBERS = ("schedule", "recovery_ppm")


class VestingSteps(DeviceSteps[VestingRows]):
    """Sale, arbitrage, release, then observation and reward."""

    renewed = ("steps", "start_e8", "earned", *NUMBERS, *FLOATS)
    over = ("sold_out", 1)

    def wired(self) -> list[Wiring]:
        """Planes of the parts of a step."""
        table = PlaneTable()
        sale, arbitrage, release, outcome = parts = [Wiring(program, table) for program in step_parts(self.env)]
        for part, names in {
            0: ("steps", "schedule", "action"),
            1: ("recovery_ppm",),
            2: ("schedule",),
            3: ("schedule", "start_e8", "last_e8", "price_e8", "steps", "recovery_ppm", "earned", *FLOATS),
        }.items():
            for name in names:
                parts[part].add_input(name)
        arbitrage.add_input("root", limbs=WORD_LIMBS)
        for name in ("sold", "received"):
            sale.add_output(name, plane=name, limbs=WORD_LIMBS)
            outcome.add_input(name, limbs=WORD_LIMBS)
        for spent, name in ((sale, "gas"), (release, "release_gas")):
            spent.add_output(name, plane=name)
            outcome.add_input(name)
        for name in ("sold_out", "reward", "earned"):
            outcome.add_output(name, plane=name)
        outcome.add_singles("observation", ENTRIES)
        return parts

    def begun(self, table: PlaneTable, starts: int) -> tuple[Limbs, NDArray[np.float32]]:
        """What was drawn for the episodes, and their first observations."""
        columns, given = self.env.columns, np.zeros((table.count, starts), dtype=np.uint64)
        for name in NUMBERS:
            given[table.planes[name]] = columns[name][:starts].astype(np.uint64)
        given[table.planes["start_e8"]] = columns["reference_e8"][:starts, 0].astype(np.uint64)
        floats = {name: columns[name][:starts] for name in FLOATS[1:]}
        put_floats(given, table, floats | {"inventory": Words(columns["inventory"][:starts]).float64()})
        return given, self.env.observe()[:starts]

    def tables(self, starts: int) -> dict[str, Table]:
        """Reference prices before and after a step, and the pool's price at the latter."""
        columns = self.env.columns
        prices = columns["reference_e8"][None, :starts].astype(np.uint64)
        return {
            "last_e8": Table(0, prices),
            "price_e8": Table(1, prices),
            "root": Table(1, as_limbs(columns["roots"][:starts])),
        }
