"""Create Uniswap V3 pools through the position manager."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from typing import TYPE_CHECKING

from mayavi.errors import ActionRefused, BadArgument
from mayavi.evm.address import ZERO_ADDRESS, AddressLike, checksum
from mayavi.evm.units import Amount
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.pool import UniswapV3Pool

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_MANAGER = [
    "createAndInitializePoolIfNecessary(address token0, address token1, uint24 fee, uint160 sqrtPriceX96)"
    " returns (address pool)"
]
_FACTORY = [
    "getPool(address tokenA, address tokenB, uint24 fee) view returns (address)",
    "feeAmountTickSpacing(uint24 fee) view returns (int24)",
]
_EXACT = Context(prec=60)


def create_pool(
    fork: Fork, token: AddressLike, other: AddressLike, fee: int, price: Amount, *, sender: AddressLike | None = None
) -> UniswapV3Pool:
    """Create a pool without liquidity in which one whole `token` costs `price` whole `other`.

    Adds the label `UniswapV3.NOVA/USDC.3000`. Raises `ActionRefused` if the pool exists.
    """
    first, second = Erc20(fork, token), Erc20(fork, other)
    factory = fork.contract("UniswapV3.Factory", _FACTORY)
    if not factory.feeAmountTickSpacing(fee):
        raise BadArgument(f"no pool has a fee of {fee} millionths", "use 100, 500, 3000 or 10000")
    if first.address == second.address:
        raise BadArgument(f"a pool of {first.symbol} and itself trades nothing")
    name = f"{first.symbol}/{second.symbol}.{fee}"
    if factory.getPool(first.address, second.address, fee) != ZERO_ADDRESS:
        raise ActionRefused(f"there is a pool {name} already", "trade on it, or take another fee")
    root = sqrt_price_x96_of(first, second, price)
    pair = sorted((first.address, second.address))
    manager = fork.contract("UniswapV3.PositionManager", _MANAGER)
    manager.createAndInitializePoolIfNecessary(*pair, fee, root, sender=sender)
    address: bytes = factory.getPool(first.address, second.address, fee)
    fork.labels[f"UniswapV3.{name}"] = checksum(address)
    return UniswapV3Pool(fork, address)


def sqrt_price_x96_of(token: Erc20, other: Erc20, price: Amount) -> int:
    """Return the square root price at which one whole `token` costs `price` whole `other`, rounded down."""
    with localcontext(_EXACT):
        wanted = Decimal(price)
        if not (wanted.is_finite() and wanted > 0):
            raise BadArgument(f"a pool cannot begin at a price of {price}", "prices are above zero")
        raw = wanted.scaleb(other.decimals - token.decimals)  # in smallest units
        raw = raw if token.address < other.address else 1 / raw
        return int((raw.sqrt() * 2**96).to_integral_value(ROUND_FLOOR))
