"""Test stage for agents: real replicas, world and scheduler, and rows that are easy to query."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from mayavi import Fork
from mayavi.agents.base import Agent
from mayavi.markets.price_paths import PricePaths
from mayavi.protocols import PriceFeed
from mayavi.sim.agent_blocks import AgentBlock
from mayavi.sim.rows import ActionRow
from mayavi.sim.scheduler import Scheduler
from mayavi.sim.world_state import WorldState

DIRECT, OVER_USDC = ("WETH", "USDC", 500), ("WETH", 500, "USDC", 100, "DAI")
MARKETS = [
    pytest.param("ethereum", "AaveV3", "USDC", DIRECT, id="aave-ethereum"),
    pytest.param("ethereum", "Spark", "DAI", OVER_USDC, id="spark"),
    pytest.param("ethereum", "cUSDCv3", "USDC", DIRECT, id="compound-ethereum"),
    pytest.param("base", "AaveV3", "USDC", DIRECT, id="aave-base"),
    pytest.param("base", "cUSDCv3", "USDC", DIRECT, id="compound-base"),
]
"""Parameters `chain`, `market`, `debt` and `route` of markets that take WETH as collateral."""

ETH_FEED = "Chainlink.ETH/USD"
WETH = 10**18


@cache
def _replica(chain: str) -> Fork:
    return Fork.replica(chain).frozen()


def replica(chain: str = "ethereum") -> Fork:
    """Return an independent replica."""
    return _replica(chain).copy()


class Stage:
    """Agents on a fork, one block per step."""

    def __init__(
        self, fork: Fork, agents: Sequence[Agent], *, seed: int = 7, prices: PricePaths | None = None, **options: Any
    ) -> None:
        self.fork = fork
        self.world = WorldState(fork, agents, seed=seed, prices=prices)
        blocks = options.pop("blocks", None) or [AgentBlock("act", agents)]
        self.scheduler = Scheduler(self.world, blocks, record_rests=True, halt_on_exception=True, **options)
        self.scheduler.begin()

    def step(self) -> list[ActionRow]:
        """Run one step."""
        return self.scheduler.tick()[0]

    def after(self, by: str) -> list[ActionRow]:
        """Run one step after moving the price of ether by a fraction."""
        PriceFeed(self.fork, ETH_FEED).move_by(by)
        return self.scheduler.tick()[0]

    def steps(self, count: int) -> list[ActionRow]:
        return [row for _ in range(count) for row in self.step()]


def of(rows: Sequence[ActionRow], agent: str) -> ActionRow:
    """Return the only row of an agent."""
    (row,) = [row for row in rows if row.agent == agent]
    return row


def details(row: ActionRow) -> dict[str, Any]:
    """Return the details of an action, integers as integers."""
    facts = json.loads(row.details)
    return {
        key: int(value) if isinstance(value, str) and value.removeprefix("-").isdigit() else value
        for key, value in facts.items()
    }
