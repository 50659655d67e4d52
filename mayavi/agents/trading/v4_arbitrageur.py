"""Arbitrageur between a Uniswap V4 pool and the outside price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from mayavi.agents.base import World
from mayavi.agents.oracle.reference import ReferencePrices
from mayavi.agents.trading.arbitrageur import ArbitrageurAgent, Trade
from mayavi.protocols.uniswap_v4.market import UniswapV4
from mayavi.protocols.uniswap_v4.pool import UniswapV4Pool
from mayavi.protocols.uniswap_v4.pool_key import Fee
from mayavi.worlds.deploy.uniswap_v4 import wrapped_coin


class V4Arbitrageur(ArbitrageurAgent):
    """Arbitrageur of a Uniswap V4 pool, like `ArbitrageurAgent` of a V3 pool.

    In a pool of ether it trades the wrapped coin, in which its capital and the reference price are.

        V4Arbitrageur("arb", pool=("ETH", "USDC", 500), capital={"WETH": 10**21, "USDC": 10**12})
    """

    pool: UniswapV4Pool  # type: ignore[assignment]

    def __init__(
        self,
        name: str,
        *,
        pool: tuple[str, str, Fee],
        capital: Mapping[str, int],
        reference: ReferencePrices | None = None,
        to: Literal["edge", "reference"] = "edge",
        priority_fee_wei: int = 0,
    ) -> None:
        self.named = pool
        given: Any = {"capital": capital, "reference": reference, "to": to, "priority_fee_wei": priority_fee_wei}
        super().__init__(name, pool=(pool[0], pool[1], 0), **given)

    def prepare(self, world: World) -> None:
        """Find the pool and take the capital."""
        fork = world.fork
        self.address = world.address(self.name)
        self.pool = UniswapV4(fork).pool(*self.named)
        self.fee = self.pool.slot.lp_fee
        places = [each if any(each) else wrapped_coin(fork) for each in self.pool.key[:2]]
        self.tokens = fork.name(places[0]), fork.name(places[1])
        for token, amount in self.capital.items():
            fork.deal(token, self.address, amount)

    def _pool_name(self, world: World) -> str:
        del world
        return str(self.pool).removeprefix("pool ")

    def _sides(self, world: World) -> tuple[str, str]:
        del world
        return self.tokens

    def _quote(self, world: World, token_in: str, token_out: str, held: int, limit: int) -> tuple[int, int, int]:
        """Try the trade, because the quoter of V4 takes no limit."""
        del token_out
        with world.fork.dry_run():
            swap = UniswapV4(world.fork).swap_exact_input(
                self._route(token_in), held, sender=self.address, sqrt_price_limit_x96=limit, wrapped=True
            )
        self.short_of_capital += swap.amount_in == held
        return swap.amount_in, swap.amount_out, swap.receipt.gas_used

    def _swap(self, world: World, trade: Trade) -> tuple[int, int]:
        swap = UniswapV4(world.fork).swap_exact_input(
            self._route(trade.token_in),
            trade.amount_in,
            sender=self.address,
            sqrt_price_limit_x96=trade.limit_x96,
            wrapped=True,
        )
        return swap.amount_in, swap.amount_out

    def _route(self, token_in: str) -> tuple[str, str, Fee]:
        first, second, fee = self.named
        forwards = self.pool.is_currency0(first) == (token_in == self.tokens[0])
        return (first, second, fee) if forwards else (second, first, fee)
