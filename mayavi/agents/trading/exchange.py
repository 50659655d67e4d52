"""Venues for selling one token for another: a Uniswap V3 route or a Curve pool."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mayavi.agents.quantities import MILLION
from mayavi.errors import ActionRefused
from mayavi.evm.fork import Fork
from mayavi.protocols.tokens import Erc20

if TYPE_CHECKING:
    from mayavi.protocols.curve.pool import CurveStableSwap
    from mayavi.protocols.uniswap.market import UniswapV3
    from mayavi.protocols.uniswap.route import RouteLike

_CURVE_MARGIN_PPM = 1_000_100  # Curve quotes only exact input: add a margin


class Sale(NamedTuple):
    """Amounts of a sale."""

    amount_in: int
    amount_out: int


class Exchange(Protocol):
    """Venue that trades one token for another. Amounts are in smallest units."""

    def needed_for(self, amount_out: int) -> int:
        """Return how much to sell for at least `amount_out`."""

    def sell(self, amount_in: int, *, sender: bytes) -> Sale:
        """Sell `amount_in`."""


@dataclass(frozen=True)
class UniswapExchange:
    """Route over Uniswap V3."""

    fork: Fork
    route: RouteLike

    @cached_property
    def uniswap(self) -> UniswapV3:
        """Uniswap V3 on the chain of `fork`."""
        from mayavi.protocols.uniswap.market import UniswapV3

        return UniswapV3(self.fork)

    @cached_property
    def way(self) -> RouteLike:
        """The route with the addresses of its tokens."""
        from mayavi.protocols.uniswap.route import Route

        return Route.of(self.fork, self.route)

    def needed_for(self, amount_out: int) -> int:
        """Return the quoter's exact amount."""
        return self.uniswap.amount_in(self.way, amount_out)

    def sell(self, amount_in: int, *, sender: bytes) -> Sale:
        """Sell `amount_in` over the route."""
        swap = self.uniswap.swap_exact_input(self.way, amount_in, sender=sender)
        return Sale(swap.amount_in, swap.amount_out)


@dataclass(frozen=True, slots=True)
class CurveExchange:
    """Two coins of a Curve pool."""

    fork: Fork
    pool: str
    coin_in: str
    coin_out: str

    @property
    def curve(self) -> CurveStableSwap:
        """Curve pool."""
        from mayavi.protocols.curve.pool import CurveStableSwap

        return CurveStableSwap(self.fork, self.pool)

    def peg_ppm(self) -> int:
        """Return the quote of one whole coin in the other, fee included, in millionths."""
        curve = self.curve
        units = [10 ** curve.coins[curve.index(coin)].decimals for coin in (self.coin_in, self.coin_out)]
        return curve.quote(self.coin_in, self.coin_out, units[0]) * MILLION // int(units[1])

    def needed_for(self, amount_out: int) -> int:
        """Return the amount at the price of about that size, plus a hundredth of a percent."""
        peg = self.peg_ppm()
        if not peg:
            raise ActionRefused(f"{self.coin_in} brings nothing on {self.pool}")
        units = [10 ** Erc20(self.fork, coin).decimals for coin in (self.coin_in, self.coin_out)]
        about = max(1, amount_out * units[0] * MILLION // (units[1] * peg))
        brings = max(1, self.curve.quote(self.coin_in, self.coin_out, about))
        needed: int = -(-about * amount_out * _CURVE_MARGIN_PPM // (brings * MILLION))
        return needed

    def sell(self, amount_in: int, *, sender: bytes) -> Sale:
        """Exchange `amount_in` on the pool."""
        done = self.curve.exchange(self.coin_in, self.coin_out, amount_in, sender=sender)
        return Sale(amount_in, done.received)
