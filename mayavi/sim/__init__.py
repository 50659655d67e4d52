"""Simulations: a world, a scheduler of partial state update blocks, a runner, and what they leave behind.

    from mayavi.sim import MemoryRecorder, PsubBlock, Runner, Scheduler, WorldState

    world = WorldState(fork, agents, seed=7)
    scheduler = Scheduler(world, [PsubBlock("all", agents)], step_blocks=300)
    end = Runner(world, scheduler, steps=48, recorder=MemoryRecorder(), info=info).run()

A name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi.sim.hooks import Hook as Hook
    from mayavi.sim.market_snapshot import MarketSnapshotHook as MarketSnapshotHook
    from mayavi.sim.recorder import MemoryRecorder as MemoryRecorder
    from mayavi.sim.runner import Runner as Runner
    from mayavi.sim.scheduler import PsubBlock as PsubBlock
    from mayavi.sim.scheduler import Scheduler as Scheduler
    from mayavi.sim.world_state import WorldState as WorldState

_HOMES = {
    "Hook": "mayavi.sim.hooks",
    "MarketSnapshotHook": "mayavi.sim.market_snapshot",
    "MemoryRecorder": "mayavi.sim.recorder",
    "PsubBlock": "mayavi.sim.scheduler",
    "Runner": "mayavi.sim.runner",
    "Scheduler": "mayavi.sim.scheduler",
    "WorldState": "mayavi.sim.world_state",
}

__all__ = ["Hook", "MarketSnapshotHook", "MemoryRecorder", "PsubBlock", "Runner", "Scheduler", "WorldState"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'mayavi.sim' has no attribute '{name}'")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
