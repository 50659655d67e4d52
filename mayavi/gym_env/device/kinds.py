"""Environments that run on a device, and why others do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mayavi.errors import UsageError
from mayavi.gym_env.chain_rows import ChainRowsEnv
from mayavi.gym_env.device.lending import BorrowerSteps
from mayavi.gym_env.device.liquidator import LiquidatorSteps
from mayavi.gym_env.device.steps import DeviceSteps
from mayavi.gym_env.device.vesting import VestingSteps
from mayavi.gym_env.lending.env import LendingRowsEnv
from mayavi.gym_env.liquidator.env import AaveLiquidatorRows
from mayavi.gym_env.vesting.env import VestingRows

if TYPE_CHECKING:
    from mayavi.gym_env.rows import RowsEnv

KINDS: dict[type[ChainRowsEnv[Any]], type[DeviceSteps[Any]]] = {
    LendingRowsEnv: BorrowerSteps,
    VestingRows: VestingSteps,
    AaveLiquidatorRows: LiquidatorSteps,
}
PROCESSOR = "take make_vector, or make_cuda with fallback=True, for the processor"
"""How to play without a device."""
WHY_NOT = {
    "market": "its agents act in any order, so that rows hardly ever take the same path",
    "scenario": "its agents are Python",
    "rwa": "it stands on no chain",
}
_OTHERS = "its step is not one program from action to reward"


def whole_environment(kind: type[RowsEnv[Any]]) -> tuple[type[ChainRowsEnv[Any]], type[DeviceSteps[Any]]]:
    """The environment as it is on a device, and its steps there; `UsageError` for one that does not run there."""
    for each, steps in KINDS.items():
        if issubclass(kind, each):
            # Paths of other processes would come in another order: the driver finds a kernel by its text.
            return type(kind.__name__, (kind,), steps.settings | {"keeps_paths": False}), steps
    raise UsageError(
        f"'{kind.name}' does not run on a device: {WHY_NOT.get(kind.name, _OTHERS)}",
        f"{PROCESSOR}; environments that run there: aave, aave-shock, compound, liquidator, vesting",
    )
