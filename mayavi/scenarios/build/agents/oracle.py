"""Builders of agents that move price feeds: oracle shocks, and the posters of the outside prices."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from mayavi.agents.base import Agent
from mayavi.scenarios.build.agents.agent_set import AgentSet, numbered
from mayavi.scenarios.build.agents.registry import agent_kind
from mayavi.scenarios.build.chain.lending_markets import price_feeds
from mayavi.scenarios.build.pricing import E8, oracle_usd_e8
from mayavi.scenarios.models.agents.oracle import OracleShock
from mayavi.scenarios.models.config import PRICES


@agent_kind(OracleShock)
def build_oracle_shock(agents: AgentSet, name: str, model: OracleShock) -> list[Agent]:
    """Build an agent that moves the feeds of one token at once, in equal parts, or along a path of prices."""
    from mayavi.agents.oracle.shock import OracleShockAgent, PathShock, RampShock, Shock, StepShock

    shock: Shock
    if model.path is not None:
        before = Decimal(oracle_usd_e8(agents.fork, model.asset)) / E8
        shock = PathShock([Fraction(price) / Fraction(before) for price in model.path], model.at)
    elif model.steps > 1:
        shock = RampShock(model.at, model.at + model.steps, model.size or 0)
    else:
        shock = StepShock(model.at, model.size or 0)
    return [OracleShockAgent(name, feeds=_feeds(agents, model.asset), shock=shock)]


def build_price_posters(agents: AgentSet) -> list[Agent]:
    """Build the agents that post outside prices to the feeds: several where markets read different feeds of a token."""
    return agents.alike(PRICES, lambda: _price_posters(agents))


def _price_posters(agents: AgentSet) -> list[Agent]:
    from mayavi.agents.oracle.price_path import PricePathAgent

    feeds = {symbol: _feeds(agents, symbol) for symbol in sorted(agents.config.prices)}
    most = max((len(each) for each in feeds.values()), default=0)
    return [
        PricePathAgent(
            numbered(PRICES, number, most),
            feeds={symbol: each[number] for symbol, each in feeds.items() if len(each) > number},
        )
        for number in range(most)
    ]


def _feeds(agents: AgentSet, symbol: str) -> list[str]:
    """Return the feeds from which markets of this scenario read the price of `symbol`; none for its own tokens."""
    if symbol in agents.config.tokens:
        return []
    return price_feeds(agents.fork, symbol, {group.market for group in agents.borrower_groups.values()})
