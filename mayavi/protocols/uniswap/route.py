"""Swap route: tokens and the fee tiers between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import BadArgument
from mayavi.evm.address import AddressLike
from mayavi.protocols.arguments import address_on

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_FIRST = "a route names the token put in, the token taken out and the fees of the pools between"
_FORMS = 'write ("WETH", "USDC", 500), or tokens and fees in turn: ("WBTC", 3000, "WETH", 500, "USDC")'


class Route(NamedTuple):
    """Tokens from the first sold to the last bought, and the fee tier between each two."""

    tokens: tuple[bytes, ...]
    fees: tuple[int, ...]

    @classmethod
    def of(cls, fork: Fork, route: RouteLike) -> Route:
        """Parse `route` and resolve its labels; a parsed one is returned."""
        if isinstance(route, Route):
            return route
        pieces: object = route
        parts = list(pieces) if isinstance(pieces, Iterable) and not isinstance(pieces, str | bytes) else []
        if len(parts) == 3 and _is_fee(parts[2]):
            parts = [parts[0], parts[2], parts[1]]
        alternating = len(parts) >= 3 and len(parts) % 2 == 1
        if not alternating or any(_is_fee(part) != bool(place % 2) for place, part in enumerate(parts)):
            raise BadArgument(f"{route!r} is not a route through pools", f"{_FIRST}; {_FORMS}")
        tokens = tuple(address_on(fork, part) for part in parts[::2])
        fees = tuple(part for part in parts[1::2] if isinstance(part, int))
        for before, after in pairwise(tokens):
            if before == after:
                raise BadArgument(f"a swap of {fork.name(before)} for itself is not a route", _FORMS)
        for fee in fees:
            if not 0 <= fee < 10**6:
                raise BadArgument(f"{fee} is not a fee in millionths", "500 is 0.05 %")
        return cls(tokens, fees)

    @property
    def token_in(self) -> bytes:
        """Token sold."""
        return self.tokens[0]

    @property
    def token_out(self) -> bytes:
        """Token bought."""
        return self.tokens[-1]

    @property
    def single(self) -> bool:
        """Whether the route has only one pool."""
        return len(self.fees) == 1

    @property
    def hops(self) -> list[tuple[bytes, bytes, int]]:
        """Token in, token out and fee of every pool."""
        return [(*pair, fee) for pair, fee in zip(pairwise(self.tokens), self.fees, strict=True)]

    def path(self, *, backwards: bool = False) -> bytes:
        """Encode the route for the contracts; `backwards` for exact-output swaps."""
        tokens, fees = (self.tokens[::-1], self.fees[::-1]) if backwards else (self.tokens, self.fees)
        return tokens[0] + b"".join(fee.to_bytes(3, "big") + token for fee, token in zip(fees, tokens[1:], strict=True))


RouteLike = Sequence[AddressLike | int] | Route
"""`("WETH", 500, "USDC")`, over several pools `("WBTC", 3000, "WETH", 500, "USDC")`, or `("WETH", "USDC", 500)`."""


def _is_fee(part: object) -> bool:
    return isinstance(part, int) and not isinstance(part, bool)
