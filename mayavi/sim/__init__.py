"""Simulations: a world, a scheduler of agent blocks, a runner, recorders and hooks.

    from mayavi.sim import AgentBlock, MemoryRecorder, Runner, Scheduler, WorldState

    world = WorldState(fork, agents, seed=7)
    scheduler = Scheduler(world, [AgentBlock("all", agents)], step_blocks=300)
    end = Runner(world, scheduler, steps=48, recorder=MemoryRecorder(), info=info).run()

Hooks read every step: `MarketSnapshotHook` records market figures, and `Books` audits every token to the smallest unit
and computes profit and loss, with `aave_claims`, `compound_claims` and `curve_claims` for what accounts hold inside
protocols. Names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi.sim.accounting import Books as Books
    from mayavi.sim.claims import aave_claims as aave_claims
    from mayavi.sim.claims import compound_claims as compound_claims
    from mayavi.sim.claims import curve_claims as curve_claims
    from mayavi.sim.hooks import Hook as Hook
    from mayavi.sim.market_figures import FeedFigures as FeedFigures
    from mayavi.sim.market_snapshot import MarketSnapshotHook as MarketSnapshotHook
    from mayavi.sim.recorder import MemoryRecorder as MemoryRecorder
    from mayavi.sim.runner import Runner as Runner
    from mayavi.sim.scheduler import AgentBlock as AgentBlock
    from mayavi.sim.scheduler import Scheduler as Scheduler
    from mayavi.sim.tally import RunTally as RunTally
    from mayavi.sim.world_state import WorldState as WorldState

_HOMES = {
    "AgentBlock": "mayavi.sim.scheduler",
    "Books": "mayavi.sim.accounting",
    "FeedFigures": "mayavi.sim.market_figures",
    "Hook": "mayavi.sim.hooks",
    "MarketSnapshotHook": "mayavi.sim.market_snapshot",
    "MemoryRecorder": "mayavi.sim.recorder",
    "RunTally": "mayavi.sim.tally",
    "Runner": "mayavi.sim.runner",
    "Scheduler": "mayavi.sim.scheduler",
    "WorldState": "mayavi.sim.world_state",
    "aave_claims": "mayavi.sim.claims",
    "compound_claims": "mayavi.sim.claims",
    "curve_claims": "mayavi.sim.claims",
}

__all__ = [
    "AgentBlock",
    "Books",
    "FeedFigures",
    "Hook",
    "MarketSnapshotHook",
    "MemoryRecorder",
    "RunTally",
    "Runner",
    "Scheduler",
    "WorldState",
    "aave_claims",
    "compound_claims",
    "curve_claims",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'mayavi.sim' has no attribute '{name}'")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
