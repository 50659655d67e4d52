"""An agent of one's own: a treasury that holds WETH and dollars, with an action and figures that only it has."""

from __future__ import annotations

from collections.abc import Mapping

from mayavi import Fork
from mayavi.agents.base import Agent, Intent, StepResult, World
from mayavi.agents.trading.exchange import UniswapExchange
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.market import UniswapV3
from mayavi.scenario_env import Simulation, Simulations
from mayavi.sim import AgentBlock, Scheduler, WorldState
from mayavi.sim.market_figures import UniswapFigures

OWN = {
    "agent": "treasury",
    "observes": ["own.balance.WETH", "own.cuts", "own.last_action", "UniswapV3.WETH/USDC.500.price", "time_left"],
    "actions": ["cut 50%", "sell 10 WETH for USDC", "topple"],
    "reward": "pnl",
    "tokens": ["WETH", "USDC"],
}


class Treasury(Agent):
    """Holds 100 WETH and 100,000 USDC; its script does nothing."""

    learner_actions = ("cut", "topple")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.cuts = 0

    def prepare(self, world: World) -> None:
        self.address = world.address(self.name)
        world.fork.deal("WETH", self.address, 100 * 10**18)
        world.fork.deal("USDC", self.address, 100_000 * 10**6)
        self.exchange = UniswapExchange(world.fork, ("WETH", "USDC", 500))

    def step(self, world: World, step_idx: int) -> StepResult:
        return self.rests()

    def act(self, world: World, action: str, share_ppm: int) -> StepResult:
        """Sell a share of the WETH, or raise."""
        if action == "topple":
            raise ValueError("toppled")
        amount = Erc20(world.fork, "WETH").balance_of(self.address) * share_ppm // 10**6

        def run() -> dict[str, int | str | bool | None]:
            self.cuts += 1
            return {"received": self.exchange.sell(amount, sender=self.address).amount_out}

        return StepResult((Intent("cut", run, {"amount": amount}),))

    def own_figures(self, world: World) -> Mapping[str, tuple[int, str]]:
        return {"cuts": (self.cuts, "count"), "seconds": (world.fork.timestamp, "count")}


def simulations() -> Simulations:
    """Episodes of the treasury alone."""

    def build(seed: int) -> Simulation:
        fork = Fork.replica("ethereum")
        fork.mine(1 + seed % 1000)  # a world of its own for each seed
        agents = [Treasury("treasury")]
        state = WorldState(fork, agents, seed=seed)
        scheduler = Scheduler(state, [AgentBlock("all", agents)], step_blocks=10)
        return Simulation(state, scheduler, [UniswapFigures(UniswapV3(fork).pool("WETH", "USDC", 500))])

    return Simulations(build, steps=4, learner=OWN)
