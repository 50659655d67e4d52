"""Episodes played by scripted agents with `WorldState`, `Scheduler` and adapters, without rows and programs.

A step of an environment is a tick with one block of agents. The agents of the market act first, the player last. Then
the blocks of the step pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mayavi import Fork
from mayavi.agents.base import Agent, Details, Intent, StepResult, World
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.market import UniswapV3
from mayavi.sim.agent_blocks import AgentBlock
from mayavi.sim.rows import ActionRow
from mayavi.sim.scheduler import Scheduler
from mayavi.sim.world_state import WorldState
from mayavi.worlds.source import WorldSource

FOREVER = 2**256 - 1
MILLION = 10**6
UNLIMITED_FUNDS = 10**15
WETH_USDC = ("WETH", "USDC", 500)


class Scripted(Agent):
    """Agent that runs `prepares` once, and each of `acts` as one intent in every step."""

    def __init__(
        self,
        name: str,
        prepares: Callable[[Fork, bytes], None],
        *acts: Callable[[Fork, bytes, int], Details | None],
    ) -> None:
        super().__init__(name)
        self.prepares, self.acts = prepares, acts

    def prepare(self, world: World) -> None:
        self.prepares(world.fork, world.address(self.name))

    def step(self, world: World, step_idx: int) -> StepResult:
        address = world.address(self.name)
        return StepResult(
            tuple(
                Intent(f"{number}", lambda act=act: act(world.fork, address, step_idx))  # type: ignore[misc]
                for number, act in enumerate(self.acts)
            )
        )


class ByHand:
    """World whose agents act in the given order."""

    def __init__(self, agents: list[Scripted], step_blocks: int) -> None:
        self.fork = WorldSource().on("ethereum").open()
        world = WorldState(self.fork, agents, seed=1)
        self.scheduler = Scheduler(
            world, [AgentBlock("step", agents)], ordering="fifo", step_blocks=step_blocks, halt_on_exception=True
        )

    def tick(self) -> list[ActionRow]:
        """Run one step; every action must succeed."""
        rows, _ = self.scheduler.tick()
        failed = [row for row in rows if row.status != "success"]
        assert not failed, failed[0]
        return rows


def rich(fork: Fork, address: bytes) -> None:
    """Fund an arbitrageur with both tokens and approve the router."""
    approve_router(fork, address)
    fork.deal("WETH", address, 2 * UNLIMITED_FUNDS * 10**18)
    fork.deal("USDC", address, 2 * UNLIMITED_FUNDS * 10**6)


def approve_router(fork: Fork, address: bytes) -> None:
    """Approve the router for both tokens of `address`."""
    for token in ("WETH", "USDC"):
        Erc20(fork, token).approve("UniswapV3.SwapRouter", FOREVER, sender=address)


def arbitrage(fork: Fork, address: bytes, root: int, share_ppm: int) -> None:
    """Move the pool `share_ppm` millionths of the way to a square root price."""
    uniswap = UniswapV3(fork)
    pool = uniswap.pool(*WETH_USDC)
    now = pool.sqrt_price_x96
    aim = now + (root - now) * share_ppm // MILLION if root > now else now - (now - root) * share_ppm // MILLION
    if aim == now:
        return
    pays_zero = aim < now  # token0 in: the price falls
    token, other = (pool.token0, pool.token1) if pays_zero else (pool.token1, pool.token0)
    uniswap.swap_exact_input(
        (token.address, other.address, 500),
        UNLIMITED_FUNDS * 10**token.decimals,
        sender=address,
        deadline=FOREVER,
        sqrt_price_limit_x96=aim,
    )
    assert pool.sqrt_price_x96 == aim


def gas_of(rows: list[ActionRow], agent: str) -> int:
    """Gas of an agent's transactions in a step."""
    return sum(int(row.gas_used) for row in rows if row.agent == agent)


Facts = dict[str, Any]
