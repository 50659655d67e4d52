"""Create Uniswap V4 pools."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation, localcontext
from typing import TYPE_CHECKING

from mayavi.errors import ActionRefused, BadArgument, CallReverted
from mayavi.evm.address import AddressLike
from mayavi.evm.units import Amount
from mayavi.protocols.tokens import atomic
from mayavi.protocols.uniswap_v4.currency import Currency
from mayavi.protocols.uniswap_v4.pool import UniswapV4Pool
from mayavi.protocols.uniswap_v4.pool_key import Fee, PoolKey
from mayavi.protocols.uniswap_v4.reverts import unwrapped

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_MANAGER = [
    "initialize((address currency0, address currency1, uint24 fee, int24 tickSpacing, address hooks) key,"
    " uint160 sqrtPriceX96) returns (int24 tick)",
]
_EXACT = Context(prec=60)


def create_pool(fork: Fork, currency: AddressLike, other: AddressLike, fee: Fee, price: Amount) -> UniswapV4Pool:
    """Create a pool without liquidity in which one whole `currency` costs `price` whole `other`.

    Raises `ActionRefused` if the pool exists.
    """
    key = PoolKey.of(fork, currency, other, fee)
    pool = UniswapV4Pool(fork, key)
    if pool.sqrt_price_x96:
        raise ActionRefused(f"there is a {pool} already", "trade on it, or take another fee or tick spacing")
    root = _sqrt_price_x96(Currency(fork, currency), Currency(fork, other), price)
    try:
        with atomic(fork):
            fork.contract("UniswapV4.PoolManager", _MANAGER).initialize(tuple(key), root)
    except CallReverted as error:
        raise unwrapped(error, f"creating {pool}") from None
    return pool


def _sqrt_price_x96(currency: Currency, other: Currency, price: Amount) -> int:
    with localcontext(_EXACT):
        try:
            wanted = Decimal(price)
        except (InvalidOperation, TypeError, ValueError):
            raise BadArgument(f"{price!r} is not a price", "write it like '1700.25'") from None
        if not (wanted.is_finite() and wanted > 0):
            raise BadArgument(f"a pool cannot begin at a price of {price}", "prices are above zero")
        raw = wanted.scaleb(other.decimals - currency.decimals)
        raw = raw if currency.address < other.address else 1 / raw
        return int((raw.sqrt() * 2**96).to_integral_value(ROUND_FLOOR))
