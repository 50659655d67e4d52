"""Markets to liquidate on, with a borrower, a liquidator and a crowd of borrowers."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from mayavi.agents import BorrowerAgent, BorrowerPopulation, LiquidatorAgent, Passive
from mayavi.evm.fork import Fork
from mayavi.markets.distributions import Uniform
from mayavi.protocols import UniswapV3
from mayavi.protocols.uniswap.route import RouteLike
from mayavi.sim.rows import ActionRow
from tests.agents.stage import DIRECT, MARKETS, WETH


@dataclass
class Place:
    """Market to liquidate on."""

    chain: str = "ethereum"
    market: str = "AaveV3"
    debt: str = "USDC"
    route: RouteLike = DIRECT

    def borrower(self, name: str = "alice", target: str = "1.2", amount: int = 10 * WETH) -> BorrowerAgent:
        return BorrowerAgent(
            name,
            collateral="WETH",
            collateral_amount=amount,
            debt=self.debt,
            target=target,
            market=self.market,
            behaviour=Passive(),
        )

    def liquidator(self, name: str = "bot", watch: tuple[str, ...] = ("alice",), **options: object) -> LiquidatorAgent:
        given: dict[str, object] = {"routes": {"WETH": self.route}, "capital": {self.debt: 10**12 * 10**12}}
        if self.debt == "USDC":
            given["capital"] = {"USDC": 10**12}
        return LiquidatorAgent(
            name,
            watch=watch,
            collaterals=["WETH"],
            debts=[self.debt],
            market=self.market,
            **{**given, **options},  # type: ignore[arg-type]
        )


PLACES = [pytest.param(Place(*parameter.values), id=parameter.id) for parameter in MARKETS]  # type: ignore[arg-type]


def lowered(fork: Fork, route: RouteLike = DIRECT) -> None:
    """Sell ether until the pool pays about a fifth less."""
    seller = bytes([0x5E]) * 20
    uniswap = UniswapV3(fork)
    pool = uniswap.pool("WETH", "USDC", 500)
    root = pool.sqrt_price_x96
    limit = root * 112 // 100 if pool.token1.symbol == "WETH" else root * 89 // 100
    fork.deal("WETH", seller, 10**24)
    uniswap.swap_exact_input(DIRECT, 10**24, sender=seller, sqrt_price_limit_x96=limit)


def crowd(members: int = 12) -> BorrowerPopulation:
    return BorrowerPopulation(
        "crowd", members=members, collateral="WETH", collateral_amount=Uniform(1, 9), debt="USDC", target=1.2
    )


def liquidated(rows: list[ActionRow]) -> list[ActionRow]:
    return [row for row in rows if row.kind == "liquidate"]
