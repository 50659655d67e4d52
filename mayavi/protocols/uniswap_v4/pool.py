"""One Uniswap V4 pool: price, fees, ticks and liquidity."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import BadArgument, UnknownName
from mayavi.evm.address import AddressLike
from mayavi.evm.units import Amount
from mayavi.protocols.uniswap_v4.currency import Currency
from mayavi.protocols.uniswap_v4.pool_key import PoolKey

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

MAX_TICK = 887_272
_VIEW = [
    "getSlot0(bytes32 poolId) view returns (uint160 sqrtPriceX96, int24 tick, uint24 protocolFee, uint24 lpFee)",
    "getLiquidity(bytes32 poolId) view returns (uint128 liquidity)",
    "getTickLiquidity(bytes32 poolId, int24 tick) view returns (uint128 liquidityGross, int128 liquidityNet)",
    "getFeeGrowthGlobals(bytes32 poolId) view returns (uint256 feeGrowthGlobal0, uint256 feeGrowthGlobal1)",
]
_DIGITS = Context(prec=40)


class Slot(NamedTuple):
    """Price and fees of a pool. The protocol's fee holds both directions, 12 bits each, token0 sold in the lower."""

    sqrt_price_x96: int
    tick: int
    protocol_fee: int
    lp_fee: int


class UniswapV4Pool:
    """Pool by its key; `UniswapV4(fork).pool("ETH", "USDC", 500)` finds one.

    `currency0` and `currency1` are ordered by address. Square root prices, ticks and liquidity are the contract's
    integers; prices are `Decimal`s of whole currencies.
    """

    def __init__(self, fork: Fork, key: PoolKey) -> None:
        self.fork, self.key = fork, key
        self.view = fork.contract("UniswapV4.StateView", _VIEW)

    @cached_property
    def id(self) -> bytes:
        """Id of the pool."""
        return self.key.id

    @cached_property
    def currency0(self) -> Currency:
        """The currency with the lower address; the native coin comes first."""
        return Currency(self.fork, self.key.currency0)

    @cached_property
    def currency1(self) -> Currency:
        """The currency with the higher address."""
        return Currency(self.fork, self.key.currency1)

    @property
    def fee(self) -> int:
        """Fee of the key in millionths of the input; `slot.lp_fee` is the current one where a hook sets it."""
        return self.key.fee

    @property
    def tick_spacing(self) -> int:
        """Positions start and end at multiples of this."""
        return self.key.tick_spacing

    @property
    def slot(self) -> Slot:
        """Price, tick and fees."""
        return Slot(*self.view.getSlot0(self.id))

    @property
    def sqrt_price_x96(self) -> int:
        """Square root of currency1 per currency0 in smallest units, times 2**96; 0 if it is not initialised."""
        return self.slot.sqrt_price_x96

    @property
    def tick(self) -> int:
        """Current tick."""
        return self.slot.tick

    @property
    def liquidity(self) -> int:
        """Liquidity active at the current price."""
        liquidity: int = self.view.getLiquidity(self.id)
        return liquidity

    @property
    def fee_growth_x128(self) -> tuple[int, int]:
        """Fees earned per unit of liquidity since the start, in both currencies, times 2**128."""
        first, second = self.view.getFeeGrowthGlobals(self.id)
        return first, second

    def tick_liquidity(self, tick: int) -> tuple[int, int]:
        """Return gross and net liquidity of a tick."""
        gross, net = self.view.getTickLiquidity(self.id, tick)
        return gross, net

    def price(self, currency: AddressLike) -> Decimal:
        """Return the price of one whole `currency` in whole other ones, before fees, to 40 digits."""
        root = self.sqrt_price_x96
        with localcontext(_DIGITS):
            price = ((Decimal(root) / 2**96) ** 2).scaleb(self.currency0.decimals - self.currency1.decimals)
            return price if self.is_currency0(currency) else 1 / price

    def tick_at(self, price: Amount, currency: AddressLike) -> int:
        """Return the usable tick nearest to a price of `currency`."""
        with localcontext(_DIGITS):
            wanted = Decimal(price)
            if not (wanted.is_finite() and wanted > 0):
                raise BadArgument(f"a price of {price} has no tick", "prices are above zero")
            shift = self.currency1.decimals - self.currency0.decimals
            raw = (wanted if self.is_currency0(currency) else 1 / wanted).scaleb(shift)
            steps = int((raw.ln() / Decimal("1.0001").ln() / self.tick_spacing).to_integral_value())
        edge = MAX_TICK // self.tick_spacing
        return max(-edge, min(edge, steps)) * self.tick_spacing

    @property
    def full_range(self) -> tuple[int, int]:
        """Lowest and highest usable tick."""
        edge = MAX_TICK // self.tick_spacing * self.tick_spacing
        return -edge, edge

    def is_currency0(self, currency: AddressLike) -> bool:
        """Whether `currency` is currency0; raise `UnknownName` if it is neither."""
        place = Currency(self.fork, currency)
        if place.address not in (self.key.currency0, self.key.currency1):
            raise UnknownName(
                f"{place.symbol} is not in {self!r}",
                f"its currencies are {self.currency0.symbol} and {self.currency1.symbol}",
            )
        return place.address == self.key.currency0

    def __str__(self) -> str:
        hooks = f" with hooks {self.fork.name(self.key.hooks)}" if any(self.key.hooks) else ""
        return f"pool UniswapV4.{self.currency0.symbol}/{self.currency1.symbol}.{self.fee}.{self.tick_spacing}{hooks}"

    def __repr__(self) -> str:
        return f"<{self}>"
