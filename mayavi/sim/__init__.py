"""Simulations: a world, a scheduler of agent blocks, a runner, recorders and hooks.

    from mayavi.sim import AgentBlock, MemoryRecorder, Runner, Scheduler, WorldState

    world = WorldState(fork, agents, seed=7)
    scheduler = Scheduler(world, [AgentBlock("all", agents)], step_blocks=300)
    end = Runner(world, scheduler, steps=48, recorder=MemoryRecorder(), info=info).run()

Hooks read every step: `MarketSnapshotHook` records market figures, and `Books` audits every token to the smallest unit
and computes profit and loss, with `aave_claims`, `compound_claims` and `curve_claims` for what accounts hold inside
protocols.

Lazy public API: `__init__.pyi` lists the names, and each loads its module on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
