"""Sale plans: at once, in equal parts, above a price, or a share only."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Protocol

from mayavi.agents.quantities import MILLION, Number, as_ppm, to_fraction
from mayavi.errors import ActionDeclined, BadArgument
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.market import UniswapV3
from mayavi.protocols.uniswap.route import Route, RouteLike

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.protocols.uniswap.pool import UniswapV3Pool


@dataclass(slots=True)
class Tranche:
    """Amount to sell, received at step `since`."""

    amount: int
    since: int
    sold: int = 0

    @property
    def left(self) -> int:
        """Unsold amount."""
        return self.amount - self.sold


class SalePlan(Protocol):
    """Schedule of sales. Stateless, so one plan may serve many agents."""

    @property
    def least_price(self) -> Fraction | None:
        """Lowest price to sell at, in whole tokens received per token; None for any price."""

    def due(self, tranche: Tranche, step: int) -> int:
        """Return how much of `tranche` to sell at `step`."""


@dataclass(frozen=True, slots=True)
class SellsAtOnce:
    """Sale of everything at once."""

    least_price: Fraction | None = None

    def due(self, tranche: Tranche, step: int) -> int:
        """Return everything unsold."""
        del step
        return tranche.left


@dataclass(frozen=True, slots=True)
class SellsOverSteps:
    """Sale of each tranche in `steps` equal parts, one per step (TWAP); unsold parts are added to the next."""

    steps: int
    least_price: Fraction | None = None

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise BadArgument(f"a sale over {self.steps} steps is not possible", "give at least 1")

    def due(self, tranche: Tranche, step: int) -> int:
        """Return the target by the end of `step`, minus what was sold; parts differ by at most one unit."""
        passed = min(step - tranche.since + 1, self.steps)
        return tranche.amount * passed // self.steps - tranche.sold


class SellsAbove:
    """Sale of everything, never below `price`, in whole tokens received per token.

    Through one pool the sale stops when the pool's price reaches it; over several, everything is sold while the quoted
    average price is not below it.
    """

    def __init__(self, price: Number) -> None:
        self.least_price: Fraction | None = to_fraction(price, "a price")
        if self.least_price <= 0:
            raise BadArgument(f"a price threshold of {price} is not above zero", "give a price above zero")

    def due(self, tranche: Tranche, step: int) -> int:
        """Return everything unsold."""
        del step
        return tranche.left


@dataclass(frozen=True, slots=True)
class SellsShare:
    """Sale of only `share` of each tranche, rounded down, by another plan."""

    plan: SalePlan
    share: Number

    @property
    def least_price(self) -> Fraction | None:
        """Lowest price of the plan."""
        return self.plan.least_price

    def due(self, tranche: Tranche, step: int) -> int:
        """Return the sale of the plan, applied to the share of the tranche."""
        part = tranche.amount * as_ppm(self.share) // MILLION
        return self.plan.due(Tranche(part, tranche.since, tranche.sold), step)


def price_is_met(fork: Fork, route: RouteLike, amount: int, least: Fraction | None) -> bool:
    """Whether some amount can be sold at `least` or above now."""
    if least is None:
        return True
    way = Route.of(fork, route)
    if way.single:
        pool = UniswapV3(fork).pool(*way.hops[0])
        root, limit = pool.sqrt_price_x96, _limit_x96(pool, way, least)
        return root > limit if way.token_in == pool.token0.address else root < limit
    quote = UniswapV3(fork).quote_exact_input(route, amount)
    return _price(fork, way, amount, quote.amount_out) >= least


def sell(
    fork: Fork, route: RouteLike, amount: int, *, sender: bytes, least: Fraction | None = None
) -> dict[str, int | str | bool | None]:
    """Sell up to `amount` over `route`; return amounts sold and received, and a pool's price before and after."""
    way, uniswap = Route.of(fork, route), UniswapV3(fork)
    if not way.single:
        bound = 0
        if least is not None:
            units = (
                least * amount * 10 ** Erc20(fork, way.token_out).decimals / 10 ** Erc20(fork, way.token_in).decimals
            )
            bound = -(-units.numerator // units.denominator)
        swap = uniswap.swap_exact_input(route, amount, sender=sender, min_amount_out=bound)
        return {"sold": swap.amount_in, "received": swap.amount_out}
    pool = uniswap.pool(*way.hops[0])
    before, limit = pool.sqrt_price_x96, 0
    if least is not None:
        limit = _limit_x96(pool, way, least)
        if not price_is_met(fork, route, amount, least):
            price: Decimal = pool.price(way.token_in)
            raise ActionDeclined(f"the pool pays {price:.8g}, and nothing is sold below {float(least):.8g}")
    swap = uniswap.swap_exact_input(route, amount, sender=sender, sqrt_price_limit_x96=limit)
    after = pool.sqrt_price_x96
    return {
        "sold": swap.amount_in,
        "received": swap.amount_out,
        "sqrt_price_before_x96": before,
        "sqrt_price_after_x96": after,
    }


def sqrt_price_x96(price: Fraction, decimals_in: int, decimals_out: int, *, token0: bool) -> int:
    """Return the square root price at which one whole token costs `price` others; `token0`: the token is token0."""
    above, below = price.numerator * 10**decimals_out, price.denominator * 10**decimals_in
    return root_x96(above, below) if token0 else root_x96(below, above)


def root_x96(amount1: int, amount0: int) -> int:
    """Return the square root price at which `amount0` of token0 costs `amount1` of token1, in smallest units."""
    return isqrt((amount1 << 192) // amount0)


def _limit_x96(pool: UniswapV3Pool, way: Route, least: Fraction) -> int:
    token0 = way.token_in == pool.token0.address
    token, other = (pool.token0, pool.token1) if token0 else (pool.token1, pool.token0)
    return sqrt_price_x96(least, token.decimals, other.decimals, token0=token0)


def _price(fork: Fork, way: Route, amount_in: int, amount_out: int) -> Fraction:
    unit_in, unit_out = (int(10 ** Erc20(fork, token).decimals) for token in (way.token_in, way.token_out))
    return Fraction(amount_out * unit_in, amount_in * unit_out)
