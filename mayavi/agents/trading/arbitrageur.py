"""Arbitrageur between a Uniswap V3 pool and the outside price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from mayavi.agents.base import Agent, Details, StepResult, World
from mayavi.agents.gas import gas_value_e8
from mayavi.agents.oracle.reference import OutsidePrices, ReferencePrices
from mayavi.agents.trading.selling import root_x96
from mayavi.errors import BadArgument
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.market import UniswapV3
from mayavi.protocols.uniswap.pool import UniswapV3Pool

_FEE_UNIT = 10**6
_GAS_BESIDE_THE_SWAP = 120_000  # the transaction itself and two approvals
_MORE_THAN_ANY_POOL_HAS = 2**127


class Trade(NamedTuple):
    """Profitable trade: `amount_in` of one token for `amount_out` of the other, up to a price limit."""

    token_in: str
    token_out: str
    amount_in: int
    amount_out: int
    limit_x96: int
    profit_e8: int


class ArbitrageurAgent(Agent):
    """Arbitrageur between a Uniswap V3 pool and a reference price, if it pays after fee and gas.

    It buys the cheap token of the pool, up to a square root price limit. By default it stops where the next unit would
    cost more, fee included, than it is worth: that maximises profit and leaves the pool off by at most its fee. With
    `to="reference"` it continues to the reference price itself, if the whole trade pays.

    It trades from its `capital`, by token, and does not rebalance: without a token left it stops trading that way.
    Reference prices are those of the run's processes, or of feeds with `FeedPrices`.

        ArbitrageurAgent("arb", pool=("WETH", "USDC", 500), capital={"WETH": 10**21, "USDC": 10**12},
                         reference=FeedPrices({"WETH": "Chainlink.ETH/USD", "USDC": "Chainlink.USDC/USD"}))
    """

    every_block = True

    def __init__(
        self,
        name: str,
        *,
        pool: tuple[str, str, int],
        capital: Mapping[str, int],
        reference: ReferencePrices | None = None,
        to: Literal["edge", "reference"] = "edge",
        priority_fee_wei: int = 0,
    ) -> None:
        super().__init__(name)
        if to not in ("edge", "reference"):
            raise BadArgument(f"an arbitrageur does not trade to '{to}'", "to='edge' or to='reference'")
        self.tokens, self.fee = (pool[0], pool[1]), pool[2]
        self.capital = dict(capital)
        self.reference: ReferencePrices = OutsidePrices() if reference is None else reference
        self.to, self.priority_fee_wei = to, priority_fee_wei
        self.short_of_capital = 0
        """Blocks in which it traded less than pays, or nothing, for lack of capital."""
        self._known: dict[str, Erc20] = {}

    def prepare(self, world: World) -> None:
        """Find the pool and take the capital."""
        self.address = world.address(self.name)
        self._uniswap = UniswapV3(world.fork)
        self.pool: UniswapV3Pool = self._uniswap.pool(*self.tokens, self.fee)
        self._name_of_pool = world.fork.name(self.pool.address)
        for token, amount in self.capital.items():
            world.fork.deal(token, self.address, amount)

    def step(self, world: World, step_idx: int) -> StepResult:
        """Compare the pool with the reference price, and trade if it pays."""
        del step_idx
        prices = {token: self.reference.usd_e8(world, token) for token in self.tokens}
        found = self._trade(world, prices)
        if isinstance(found, str):
            return self.rests(found)
        details: Details = {
            "pool": self._pool_name(world),
            "token_in": found.token_in,
            "token_out": found.token_out,
            "reference_in_e8": prices[found.token_in],
            "reference_out_e8": prices[found.token_out],
            "expected_profit_e8": found.profit_e8,
            "limit_x96": found.limit_x96,
        }
        return self.does(
            "arbitrage",
            lambda: self._execute(world, found, prices),
            details=details,
            priority_fee_wei=self.priority_fee_wei,
            note=f"{found.token_out} is cheap",
        )

    def _trade(self, world: World, prices: dict[str, int]) -> Trade | str:
        """Return the profitable trade, or the reason why there is none."""
        root = self.pool.sqrt_price_x96
        zero, one = self._sides(world)
        fair1 = prices[zero] * int(10 ** self._token(world, one).decimals)
        fair0, kept = prices[one] * int(10 ** self._token(world, zero).decimals), _FEE_UNIT - self.fee
        # Marginal price equals fair price net of fee: below it when buying token0, above it when selling.
        lowest, highest = root_x96(fair1 * kept, fair0 * _FEE_UNIT), root_x96(fair1 * _FEE_UNIT, fair0 * kept)
        if lowest <= root <= highest:
            return "the price is within the fee of the reference"
        token_in, token_out = (one, zero) if root < lowest else (zero, one)
        edge = lowest if root < lowest else highest
        limit = root_x96(fair1, fair0) if self.to == "reference" else edge
        held = self._token(world, token_in).balance_of(self.address)
        if not held:
            self.short_of_capital += 1
            return f"there is no {token_in} to trade with"
        amount, bought, gas_used = self._quote(world, token_in, token_out, held, limit)
        gas = gas_value_e8(world, gas_used + _GAS_BESIDE_THE_SWAP, priority_fee_wei=self.priority_fee_wei)
        profit = self._gain_e8(world, prices, token_in, token_out, amount, bought) - gas
        if profit <= 0:
            return "the price is off, and to trade on it does not pay"
        return Trade(token_in, token_out, amount, bought, limit, profit)

    def _token(self, world: World, name: str) -> Erc20:
        found = self._known.get(name)
        if found is None or found.fork is not world.fork:
            found = self._known[name] = Erc20(world.fork, name)
        return found

    def _pool_name(self, world: World) -> str:
        del world
        return self._name_of_pool

    def _sides(self, world: World) -> tuple[str, str]:
        """Return the names of token0 and token1."""
        names = {world.fork.address_of(token): token for token in self.tokens}
        return names[self.pool.token0.address], names[self.pool.token1.address]

    def _quote(self, world: World, token_in: str, token_out: str, held: int, limit: int) -> tuple[int, int, int]:
        """Return the amounts in and out and the gas of a trade up to the limit, with what it holds."""
        uniswap, route = self._uniswap, (token_in, token_out, self.fee)
        there = uniswap.amount_in(route, _MORE_THAN_ANY_POOL_HAS, sqrt_price_limit_x96=limit)
        amount = min(held, there)
        self.short_of_capital += held < there
        if not world.gas_price_wei:  # then the quoter need not measure gas
            return amount, uniswap.amounts_out(route, [amount], sqrt_price_limit_x96=limit)[0], 0
        quote = uniswap.quote_exact_input(route, amount, sqrt_price_limit_x96=limit)
        return amount, quote.amount_out, quote.gas_estimate

    def _gain_e8(
        self, world: World, prices: dict[str, int], token_in: str, token_out: str, amount_in: int, amount_out: int
    ) -> int:
        unit_in, unit_out = (10 ** self._token(world, token).decimals for token in (token_in, token_out))
        return int(amount_out * prices[token_out] // unit_out - -(-amount_in * prices[token_in] // unit_in))

    def _execute(self, world: World, trade: Trade, prices: dict[str, int]) -> Details:
        # Earlier trades may have moved the price: the limit stops the swap where it no longer pays, or reverts it.
        sold, bought = self._swap(world, trade)
        gain = self._gain_e8(world, prices, trade.token_in, trade.token_out, sold, bought)
        return {
            "amount_in": sold,
            "amount_out": bought,
            "profit_e8": gain,
            "sqrt_price_after_x96": self.pool.sqrt_price_x96,
        }

    def _swap(self, world: World, trade: Trade) -> tuple[int, int]:
        """Execute a trade; return the amounts in and out."""
        route = trade.token_in, trade.token_out, self.fee
        swap = self._uniswap.swap_exact_input(
            route, trade.amount_in, sender=self.address, sqrt_price_limit_x96=trade.limit_x96
        )
        return swap.amount_in, swap.amount_out
