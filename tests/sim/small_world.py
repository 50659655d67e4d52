"""Small agents and runs for the tests of the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mayavi import Fork
from mayavi.agents.base import Agent, Intent, StepResult, World
from mayavi.protocols.tokens import Erc20
from mayavi.sim.agent_blocks import AgentBlock
from mayavi.sim.recorder import MemoryRecorder
from mayavi.sim.rows import RunEnd, RunInfo
from mayavi.sim.runner import Runner
from mayavi.sim.scheduler import Scheduler
from mayavi.sim.world_state import WorldState

Script = Callable[[World, int], StepResult]


class Scripted(Agent):
    """Does in each step what a function says."""

    def __init__(self, name: str, script: Script, prepare: Callable[[World], None] | None = None) -> None:
        super().__init__(name)
        self.script, self._prepare = script, prepare

    def prepare(self, world: World) -> None:
        world.address(self.name)
        if self._prepare is not None:
            self._prepare(world)

    def step(self, world: World, step_idx: int) -> StepResult:
        return self.script(world, step_idx)


class Racer(Agent):
    """Wants the hundred USDC in the purse, whoever else does."""

    PRIZE = 100 * 10**6

    def __init__(self, name: str, tip: int = 0) -> None:
        super().__init__(name)
        self.tip = tip
        self.saw: list[int] = []

    def prepare(self, world: World) -> None:
        purse = world.address("purse")
        world.fork.deal("USDC", purse, self.PRIZE)
        Erc20(world.fork, "USDC").approve(world.address(self.name), self.PRIZE, sender=purse)

    def step(self, world: World, step_idx: int) -> StepResult:
        usdc, purse, me = Erc20(world.fork, "USDC"), world.address("purse"), world.address(self.name)
        self.saw.append(usdc.balance_of(purse))

        def grab() -> dict[str, int]:
            usdc.contract.transferFrom(purse, me, self.PRIZE, sender=me)
            return {"got": self.PRIZE}

        return self.does("grab", grab, priority_fee_wei=self.tip)


def nothing() -> None:
    """An intent's run that does nothing."""


def wish(kind: str = "wish", run: Callable[[], Any] = nothing, **options: Any) -> StepResult:
    return StepResult((Intent(kind, run, **options),))


def info(steps: int = 3, seed: int = 1) -> RunInfo:
    return RunInfo("run", "test", "", seed, steps, "ethereum", "replica", "", {}, 0.0)


def scheduled(fork: Fork, agents: Sequence[Agent], *, seed: int = 1, threads: int = 1, **options: Any) -> Scheduler:
    world = WorldState(fork, agents, seed=seed, threads=threads, prices=options.pop("prices", None))
    blocks = options.pop("blocks", None) or [AgentBlock("all", agents)]
    return Scheduler(world, blocks, **options)


def ran(
    fork: Fork, agents: Sequence[Agent], *, steps: int = 3, seed: int = 1, kpis: Any = None, **options: Any
) -> tuple[MemoryRecorder, RunEnd]:
    scheduler, recorder = scheduled(fork, agents, seed=seed, **options), MemoryRecorder()
    runner = Runner(scheduler.world, scheduler, steps=steps, recorder=recorder, info=info(steps, seed), kpis=kpis)
    return recorder, runner.run()
