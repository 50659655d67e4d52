"""Simulations: a world, a scheduler of partial state update blocks, a runner, and recorders.

    from mayavi.sim import MemoryRecorder, PsubBlock, Runner, Scheduler, WorldState

    world = WorldState(fork, agents, seed=7)
    scheduler = Scheduler(world, [PsubBlock("all", agents)], step_blocks=300)
    end = Runner(world, scheduler, steps=48, recorder=MemoryRecorder(), info=info).run()

Lazy public API: `__init__.pyi` lists the names, and each loads its module on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
