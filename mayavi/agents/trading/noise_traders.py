"""Noise traders: small random buys and sells on a pool."""

from __future__ import annotations

from mayavi.agents.base import Agent, Details, Intent, StepResult, World
from mayavi.agents.quantities import Number, to_fraction
from mayavi.agents.trading.recorded_trades import Funds
from mayavi.errors import ActionRefused, BadArgument
from mayavi.markets.distributions import Distribution
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.market import UniswapV3


class NoiseTraders(Agent):
    """Noise traders with `trades_a_step` trades on average, each of a size in quote tokens drawn from `size`.

    `buys` is the share of purchases; one half leaves the price unchanged on average. The size of a sale is converted to
    tokens at the pool's price. `capital`, by token in smallest units, is their initial balance.
    """

    def __init__(
        self,
        name: str,
        *,
        pool: tuple[str, str, int],
        trades_a_step: float,
        size: Distribution,
        buys: Number,
        capital: dict[str, int],
        give: Funds,
    ) -> None:
        super().__init__(name)
        if trades_a_step < 0:
            raise BadArgument(f"{trades_a_step} trades a step are fewer than none", "give a number from zero on")
        self.token, self.quote, self.fee = pool
        self.trades_a_step, self.size = trades_a_step, size
        self.buys = to_fraction(buys, "a share of purchases")
        self.capital = dict(capital)
        self._give = give

    def prepare(self, world: World) -> None:
        """Take the capital."""
        self.address = world.address(self.name)
        for symbol, amount in sorted(self.capital.items()):
            self._give(symbol, self.address, amount)

    def step(self, world: World, step_idx: int) -> StepResult:
        """Draw the trades of this step."""
        del step_idx
        rng = world.rng(self.name)
        count = int(rng.poisson(self.trades_a_step))
        sizes = self.size.sample(count, rng)
        sides = rng.random(count) < float(self.buys)
        unit = 10 ** Erc20(world.fork, self.quote).decimals
        pairs = zip(sizes.tolist(), sides.tolist(), strict=True)
        intents = tuple(self._intent(world, int(size * unit), buys) for size, buys in pairs if size * unit >= 1)
        return StepResult(intents, f"{len(intents)} trades") if intents else self.rests("nobody trades")

    def _intent(self, world: World, value: int, buys: bool) -> Intent:
        sold, bought = (self.quote, self.token) if buys else (self.token, self.quote)

        def run() -> Details:
            amount = value if buys else self._tokens_worth(world, value)
            amount = min(amount, Erc20(world.fork, sold).balance_of(self.address))
            if not amount:
                raise ActionRefused(f"the traders have no {sold} left", "give them more capital")
            swap = UniswapV3(world.fork).swap_exact_input((sold, bought, self.fee), amount, sender=self.address)
            return {"amount_in": swap.amount_in, "amount_out": swap.amount_out}

        return Intent("trade", run, {"token_in": sold, "token_out": bought, "value": value})

    def _tokens_worth(self, world: World, value: int) -> int:
        """Return the tokens worth `value` quote tokens at the pool's price, in smallest units, rounded down."""
        pool = UniswapV3(world.fork).pool(self.token, self.quote, self.fee)
        square = pool.sqrt_price_x96**2
        if pool.token0.address == Erc20(world.fork, self.token).address:
            return (value << 192) // square
        return value * square >> 192
