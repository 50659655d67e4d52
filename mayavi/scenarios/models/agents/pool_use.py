"""Whether the agents of a scenario may trade in Uniswap V3 pools that the chain has already."""

from __future__ import annotations

from collections.abc import Container, Iterable

from pydantic import BaseModel

from mayavi.scenarios.models.agents.lending import Borrower, Liquidator
from mayavi.scenarios.models.agents.positions import Positions
from mayavi.scenarios.models.agents.trading import LaunchTrader


def trades_on_chain(agents: Iterable[BaseModel], own_pools: Container[str], *, unknown: bool = False) -> bool:
    """Whether an agent may trade in a Uniswap V3 pool that is not in `own_pools`, those the scenario creates.

    `unknown` is the answer for agents of kinds that other packages register and that name no pool.
    """
    for agent in agents:
        pool = getattr(agent, "pool", "")
        if isinstance(agent, Borrower | Liquidator | Positions):
            return True
        if isinstance(agent, LaunchTrader):
            continue
        if pool and pool not in own_pools and not pool.startswith(("Curve.", "UniswapV4.")):
            return True
        if unknown and not pool and not type(agent).__module__.startswith("mayavi."):
            return True
    return False
