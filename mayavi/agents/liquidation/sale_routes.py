"""Ways to sell seized collateral: over pools of Uniswap V3 or V4, or out of a Pendle market and on from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mayavi.errors import BadArgument, CallReverted
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.route import Route, RouteLike
from mayavi.protocols.uniswap_v4.pool_key import RouteLike as V4RouteLike

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

Call = tuple[bytes, bytes]
"""Target and calldata."""


@dataclass(frozen=True, slots=True)
class V4Route:
    """Route over pools of Uniswap V4: `V4Route(("ETH", "USDC", 500))`, which unwraps WETH, or wraps it at the end."""

    route: V4RouteLike


@dataclass(frozen=True, slots=True)
class PendleRoute:
    """Exit of a PT: its market, and the route to sell the yield token, unless that token itself is wanted.

    ```python
    PendleRoute("Pendle.wstETH-11JUL2024", then=("wstETH", 100, "WETH", 500, "USDC"))
    ```
    """

    market: str
    then: RouteLike | V4Route | None = None


SaleRouteLike = RouteLike | V4Route | PendleRoute
"""Route of Uniswap V3, such as `("WETH", "USDC", 500)`, of Uniswap V4, or out of a Pendle market."""


class SaleRoute(Protocol):
    """Route on a fork. Amounts are in smallest units."""

    @property
    def token_in(self) -> bytes:
        """Token sold."""

    @property
    def token_out(self) -> bytes:
        """Token bought."""

    def quotes(self, amounts: Sequence[int]) -> list[int]:
        """Return what each amount would bring now; nothing if it cannot be sold."""

    def sell(self, amount: int, least: int, sender: bytes) -> int:
        """Sell `amount` for at least `least`; return what it brought."""

    def calls(self, amount: int, least: int, recipient: bytes) -> list[Call]:
        """Return calls by which a contract that holds `amount` sells it in the same block."""


def open_route(fork: Fork, route: SaleRouteLike) -> SaleRoute:
    """Return `route` on a fork; raise `BadArgument` if it is invalid, `UnknownName` if a part is missing."""
    if isinstance(route, V4Route):
        return _OverV4(fork, route)
    if isinstance(route, PendleRoute):
        return _OutOfPendle(fork, route)
    return _OverV3(fork, route)


class _OverV3:
    def __init__(self, fork: Fork, route: RouteLike) -> None:
        from mayavi.protocols.uniswap.market import UniswapV3

        self._fork, self._route = fork, Route.of(fork, route)
        self._uniswap = UniswapV3(fork)
        self.token_in, self.token_out = self._route.token_in, self._route.token_out

    def quotes(self, amounts: Sequence[int]) -> list[int]:
        return self._uniswap.amounts_out(self._route, list(amounts))

    def sell(self, amount: int, least: int, sender: bytes) -> int:
        return self._uniswap.swap_exact_input(self._route, amount, sender=sender, min_amount_out=least).amount_out

    def calls(self, amount: int, least: int, recipient: bytes) -> list[Call]:
        from mayavi.protocols.uniswap.router import Router

        router = Router(self._fork)
        sale = router.calldata(self._route, amount, least, recipient=recipient, deadline=self._fork.timestamp)
        return [_approval(self._fork, self.token_in, router.address, amount), (router.address, sale)]


class _OverV4:
    def __init__(self, fork: Fork, route: V4Route) -> None:
        from mayavi.protocols.uniswap_v4.market import UniswapV4
        from mayavi.protocols.uniswap_v4.pool_key import Route as RouteOfV4
        from mayavi.protocols.uniswap_v4.router import wrapped_ends

        self._fork, self._uniswap = fork, UniswapV4(fork)
        self._route = RouteOfV4.of(fork, route.route)
        self.token_in, self.token_out = wrapped_ends(fork, self._route)
        for key in self._route.keys:
            self._uniswap.pool_by_key(key)

    def quotes(self, amounts: Sequence[int]) -> list[int]:
        return _each(
            amounts, lambda some: [each.amount_out for each in self._uniswap.quote_exact_inputs(self._route, some)]
        )

    def sell(self, amount: int, least: int, sender: bytes) -> int:
        swap = self._uniswap.swap_exact_input(self._route, amount, sender=sender, min_amount_out=least, wrapped=True)
        return swap.amount_out

    def calls(self, amount: int, least: int, recipient: bytes) -> list[Call]:
        from mayavi.protocols.uniswap_v4.router import router_of, sale_calldata

        router = router_of(self._fork).address
        sale = sale_calldata(self._fork, self._route, amount, least, recipient, self._fork.timestamp)
        return [_approval(self._fork, self.token_in, router, amount), (router, sale)]


class _OutOfPendle:
    def __init__(self, fork: Fork, route: PendleRoute) -> None:
        from mayavi.protocols.pendle.market import PendleMarket

        self._fork, self._market = fork, PendleMarket(fork, route.market)
        self.token_in = self._market.pt.address
        self._then = None if route.then is None else open_route(fork, route.then)
        middle = self._market.yield_token
        if self._then is not None and self._then.token_in != middle.address:
            raise BadArgument(
                f"{self._market} pays {middle.symbol}, and the route goes on from {fork.name(self._then.token_in)}",
                f'begin it there: then=("{middle.symbol}", …)',
            )
        self.token_out = middle.address if self._then is None else self._then.token_out

    def quotes(self, amounts: Sequence[int]) -> list[int]:
        middle = _each(amounts, lambda some: self._market.quote_exits(some))
        if self._then is None:
            return middle
        sold = iter(self._then.quotes([each for each in middle if each]))
        return [next(sold) if each else 0 for each in middle]

    def sell(self, amount: int, least: int, sender: bytes) -> int:
        received = self._market.exit_pt(amount, sender=sender, min_amount_out=0 if self._then else least)
        return received if self._then is None else self._then.sell(received, least, sender)

    def calls(self, amount: int, least: int, recipient: bytes) -> list[Call]:
        made = self._market.exit_calls(amount, recipient)
        if self._then is not None:
            made += self._then.calls(self._market.quote_exits([amount])[0], least, recipient)
        return made


def _each(amounts: Sequence[int], quote: Callable[[list[int]], list[int]]) -> list[int]:
    """Quote all amounts at once, or one by one if some cannot be sold, which bring nothing."""
    try:
        return quote(list(amounts))
    except CallReverted:
        if len(amounts) == 1:
            return [0]
        return [_each([amount], quote)[0] for amount in amounts]


def _approval(fork: Fork, token: bytes, spender: bytes, amount: int) -> Call:
    return token, Erc20(fork, token).contract.approve.encode(spender, amount)
