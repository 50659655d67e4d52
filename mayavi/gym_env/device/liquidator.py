"""The liquidator environment on a device: the planes of its steps, and the starts of its episodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mayavi.gym_env.device.steps import DeviceSteps, Table, as_limbs, put_floats
from mayavi.gym_env.device.wiring import WORD_LIMBS, Limbs, PlaneTable, Wiring
from mayavi.gym_env.liquidator.env import AaveLiquidatorRows
from mayavi.gym_env.liquidator.parts import COMMON, OF_ACCOUNT, step_parts

FLOATS = ("debts_usd", "volatility")
NUMBERS = ("recovery_ppm", "gas_price_wei")


class LiquidatorSteps(DeviceSteps[AaveLiquidatorRows]):
    """Liquidation, sale, price, arbitrage, then observation and reward."""

    renewed = ("steps", "start_e8", "earned", *NUMBERS, *FLOATS)
    over = ("closed", 1)

    def wired(self) -> list[Wiring]:
        """Planes of the parts of a step."""
        table = PlaneTable()
        liquidation, sale, _, arbitrage, outcome = parts = [Wiring(program, table) for program in step_parts(self.env)]
        for part, names in {
            0: ("last_e8",),
            2: ("price_e8",),
            3: ("recovery_ppm",),
            4: ("price_e8", "last_e8", "start_e8", "steps", "earned", *NUMBERS, *FLOATS),
        }.items():
            for name in names:
                parts[part].add_input(name)
        liquidation.add_input("action", count=1 if self.env.config.actions == "discrete" else 2)
        arbitrage.add_input("root", limbs=WORD_LIMBS)
        for source, name in ((liquidation, "paid"), (sale, "received")):
            source.add_output(name, plane=name, limbs=WORD_LIMBS)
            outcome.add_input(name, limbs=WORD_LIMBS)
        for source, name in ((liquidation, "gas"), (sale, "sale_gas")):
            source.add_output(name, plane=name)
            outcome.add_input(name)
        for name in ("closed", "reward", "earned"):
            outcome.add_output(name, plane=name)
        outcome.add_singles("observation", COMMON + OF_ACCOUNT * self.env.config.borrowers)
        return parts

    def begun(self, table: PlaneTable, starts: int) -> tuple[Limbs, NDArray[np.float32]]:
        """What was drawn for the episodes, and their first observations."""
        columns, given = self.env.columns, np.zeros((table.count, starts), dtype=np.uint64)
        for name in NUMBERS:
            given[table.planes[name]] = columns[name][:starts].astype(np.uint64)
        given[table.planes["start_e8"]] = columns["price_e8"][:starts, 0].astype(np.uint64)
        put_floats(given, table, {name: columns[name][:starts] for name in FLOATS})
        return given, self.env.observe()[:starts]

    def tables(self, starts: int) -> dict[str, Table]:
        """Prices before and after a step, and the pool's price at the latter."""
        columns = self.env.columns
        prices = columns["price_e8"][None, :starts].astype(np.uint64)
        return {
            "last_e8": Table(0, prices),
            "price_e8": Table(1, prices),
            "root": Table(1, as_limbs(columns["roots"][:starts])),
        }
