"""Keys of Uniswap V4 pools, and routes made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import BadArgument
from mayavi.evm.abi.codec import Codec
from mayavi.evm.address import ZERO_ADDRESS, AddressLike
from mayavi.evm.hashing import keccak256
from mayavi.protocols.arguments import address_on
from mayavi.protocols.uniswap_v4.currency import Currency

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

DYNAMIC_FEE = 0x800000
"""Fee of a pool whose hook sets its fee."""
SPACINGS = {100: 1, 500: 10, 3_000: 60, 10_000: 200}
"""Tick spacings that go with V3's fee tiers; other fees name their own."""
LARGEST_FEE = 10**6
SMALLEST_SPACING, LARGEST_SPACING = 1, 32_767

Fee = int | Sequence[int | AddressLike]
"""Fee in millionths, or fee and tick spacing, or fee, tick spacing and hooks: `500`, `(500, 10)`, `(500, 10, hook)`."""
RouteLike = Sequence[AddressLike | Fee]
"""`("ETH", "USDC", 500)`, or over several pools `("WBTC", 3000, "ETH", (500, 10), "USDC")`."""

_CODEC = Codec.of("address,address,uint24,int24,address")
_FORMS = 'write ("ETH", "USDC", 500), or currencies and fees in turn: ("WBTC", 3000, "ETH", (500, 10), "USDC")'


class PoolKey(NamedTuple):
    """What a pool is known by: currencies in the order of their addresses, fee in millionths, tick spacing, hooks."""

    currency0: bytes
    currency1: bytes
    fee: int
    tick_spacing: int
    hooks: bytes

    @classmethod
    def of(cls, fork: Fork, currency: AddressLike, other: AddressLike, fee: Fee) -> PoolKey:
        """Return the key of two currencies, in either order; V3's fee tiers imply their tick spacing."""
        pair = sorted((Currency(fork, currency).address, Currency(fork, other).address))
        if pair[0] == pair[1]:
            raise BadArgument(f"a pool of {Currency(fork, currency).symbol} and itself trades nothing", _FORMS)
        return cls(pair[0], pair[1], *_terms(fork, fee))

    @property
    def id(self) -> bytes:
        """Id of the pool: the hash of its key."""
        return keccak256(_CODEC.encode(tuple(self)))


class Route(NamedTuple):
    """Pools from the currency sold to the one bought."""

    currency_in: bytes
    keys: tuple[PoolKey, ...]

    @classmethod
    def of(cls, fork: Fork, route: RouteLike | Route) -> Route:
        """Parse a route; raise `BadArgument` for anything else."""
        if isinstance(route, Route):
            return route
        pieces: object = route
        parts = list(pieces) if isinstance(pieces, Iterable) and not isinstance(pieces, str | bytes) else []
        if len(parts) == 3 and _is_fee(parts[2]):
            parts = [parts[0], parts[2], parts[1]]
        alternating = len(parts) >= 3 and len(parts) % 2 == 1
        if not alternating or any(_is_fee(part) != bool(at % 2) for at, part in enumerate(parts)):
            raise BadArgument(f"{route!r} is not a route through pools of Uniswap V4", _FORMS)
        places = zip(parts[:-1:2], parts[1::2], parts[2::2], strict=True)
        keys = tuple(PoolKey.of(fork, first, second, fee) for first, fee, second in places)
        return cls(Currency(fork, parts[0]).address, keys)

    @property
    def currencies(self) -> tuple[bytes, ...]:
        """Currencies on the way, the one sold first."""
        found = [self.currency_in]
        for key in self.keys:
            found.append(key.currency1 if key.currency0 == found[-1] else key.currency0)
        return tuple(found)

    @property
    def currency_out(self) -> bytes:
        """Currency bought."""
        return self.currencies[-1]


def _terms(fork: Fork, fee: Fee) -> tuple[int, int, bytes]:
    """Fee, tick spacing and hooks."""
    parts = [fee] if isinstance(fee, int) else list(fee)
    number = parts[0] if parts else None
    if not isinstance(number, int) or not (0 <= number <= LARGEST_FEE or number == DYNAMIC_FEE) or len(parts) > 3:
        raise BadArgument(f"{fee!r} is not a fee in millionths", "500 is 0.05 %; with a tick spacing: (500, 10)")
    spacing = parts[1] if len(parts) > 1 else SPACINGS.get(number)
    if spacing is None:
        raise BadArgument(f"a fee of {number} millionths implies no tick spacing", f"name it: ({number}, 10)")
    if not isinstance(spacing, int) or not SMALLEST_SPACING <= spacing <= LARGEST_SPACING:
        raise BadArgument(f"{spacing!r} is not a tick spacing", f"it is from {SMALLEST_SPACING} to {LARGEST_SPACING:,}")
    hooks = parts[2] if len(parts) > 2 else ZERO_ADDRESS
    return number, spacing, address_on(fork, hooks)


def _is_fee(part: object) -> bool:
    return (isinstance(part, int) and not isinstance(part, bool)) or (
        isinstance(part, Sequence) and not isinstance(part, str | bytes)
    )
