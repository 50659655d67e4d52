"""One Uniswap V3 pool: price, ticks and liquidity."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal, InvalidOperation, localcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

from mayavi.errors import BadArgument, BadInteger, UnknownName
from mayavi.evm.address import AddressLike, checksum
from mayavi.evm.arguments import word
from mayavi.evm.units import Amount, as_integer
from mayavi.protocols.arguments import address_on, require_contract, require_fork
from mayavi.protocols.tokens import Erc20

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

MIN_TICK, MAX_TICK = -887_272, 887_272
"""Lowest and highest tick of a pool; prices are powers of 1.0001."""

_ABI = [
    "token0() view returns (address)",
    "token1() view returns (address)",
    "fee() view returns (uint24)",
    "tickSpacing() view returns (int24)",
    "liquidity() view returns (uint128)",
    "slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16, uint16, uint16, uint8, bool)",
    "tickBitmap(int16 word) view returns (uint256)",
    "ticks(int24 tick) view returns (uint128 liquidityGross, int128 liquidityNet, uint256, uint256, int56, uint160,"
    " uint32, bool)",
]
_DIGITS = Context(prec=40)
_DOUBLE = 6_932  # ticks between a price and its double


class Tick(NamedTuple):
    """Initialised tick. Crossing it upwards changes the liquidity by `liquidity_net`."""

    tick: int
    liquidity_gross: int
    liquidity_net: int


class LiquidityRange(NamedTuple):
    """Active liquidity while the pool's tick is in [`lower_tick`, `upper_tick`)."""

    lower_tick: int
    upper_tick: int
    liquidity: int


class UniswapV3Pool:
    """Pool by a label such as `UniswapV3.WETH/USDC.500` or an address; `UniswapV3(fork).pool(…)` finds one.

    `token0` and `token1` are ordered by address, as in the contract. Square root prices, ticks and liquidity are the
    contract's integers; prices are `Decimal`s of whole tokens.
    """

    def __init__(self, fork: Fork, pool: AddressLike) -> None:
        require_fork(fork, "UniswapV3Pool")
        self.fork = fork
        self.contract = fork.contract(address_on(fork, pool), _ABI)
        self.address = self.contract.address
        views = (lambda: self.token0, lambda: self.token1, lambda: self.fee, lambda: self.tick_spacing)
        require_contract(fork, self.address, "pool of Uniswap V3", *views)

    @cached_property
    def token0(self) -> Erc20:
        """The token with the lower address."""
        return Erc20(self.fork, self.contract.token0())

    @cached_property
    def token1(self) -> Erc20:
        """The token with the higher address."""
        return Erc20(self.fork, self.contract.token1())

    @cached_property
    def fee(self) -> int:
        """Swap fee in millionths of the input: 500 is 0.05 %."""
        fee: int = self.contract.fee()
        return fee

    @cached_property
    def tick_spacing(self) -> int:
        """Positions start and end at multiples of this."""
        spacing: int = self.contract.tickSpacing()
        return spacing

    @property
    def sqrt_price_x96(self) -> int:
        """Square root of token1 per token0 in smallest units, times 2**96."""
        root: int = self.contract.slot0()[0]
        return root

    @property
    def tick(self) -> int:
        """Current tick: the price is at least 1.0001**tick."""
        tick: int = self.contract.slot0()[1]
        return tick

    @property
    def liquidity(self) -> int:
        """Liquidity active at the current price."""
        liquidity: int = self.contract.liquidity()
        return liquidity

    def other(self, token: AddressLike) -> Erc20:
        """Return the other token of the pair."""
        return self.token1 if self._is_token0(token) else self.token0

    def price(self, token: AddressLike) -> Decimal:
        """Return the price of one whole `token` in whole other tokens, before fees, to 40 digits."""
        return self.price_at(self.sqrt_price_x96, token)

    def price_at(self, sqrt_price_x96: int, token: AddressLike) -> Decimal:
        """Return the price of `token` at another square root price, such as a quote's final one."""
        if not word(sqrt_price_x96, "square root price"):
            raise BadArgument(
                "a square root price of 0 is not a valid price", "a pool that was never initialised has it"
            )
        with localcontext(_DIGITS):
            raw = (Decimal(sqrt_price_x96) / 2**96) ** 2
            price = raw.scaleb(self.token0.decimals - self.token1.decimals)
            return price if self._is_token0(token) else 1 / price

    def tick_at(self, price: Amount, token: AddressLike) -> int:
        """Return the usable tick nearest to a price of `token`."""
        with localcontext(_DIGITS):
            try:
                wanted = Decimal(price)
            except (InvalidOperation, TypeError, ValueError):
                raise BadArgument(f"{price!r} is not a price", "write it like '1700.25'") from None
            if not (wanted.is_finite() and wanted > 0):
                raise BadArgument(f"a price of {price} has no tick", "prices are above zero")
            raw = (wanted if self._is_token0(token) else 1 / wanted).scaleb(self.token1.decimals - self.token0.decimals)
            steps = int((raw.ln() / Decimal("1.0001").ln() / self.tick_spacing).to_integral_value())
        edge = MAX_TICK // self.tick_spacing
        return max(-edge, min(edge, steps)) * self.tick_spacing

    def tick_range(self, lowest: Amount, highest: Amount, token: AddressLike) -> tuple[int, int]:
        """Return the lower and upper tick of a position that trades between two prices of `token`."""
        lower, upper = sorted((self.tick_at(lowest, token), self.tick_at(highest, token)))
        return lower, upper

    # -- liquidity ----------------------------------------------------------------------------------------------------

    def ticks(self, lower_tick: int = MIN_TICK, upper_tick: int = MAX_TICK) -> list[Tick]:
        """Return the initialised ticks from `lower_tick` to `upper_tick`, both included, in order.

        Costs one read per 256 multiples of the tick spacing and one per tick found: give a range on a fork of a node.
        """
        lower, upper = self._range(lower_tick, upper_tick)
        words = range(lower // self.tick_spacing >> 8, (upper // self.tick_spacing >> 8) + 1)
        found = [
            tick
            for word, bits in zip(words, self._read("tickBitmap", words), strict=True)
            for position in _set_bits(bits)
            if lower <= (tick := (word * 256 + position) * self.tick_spacing) <= upper
        ]
        return [Tick(tick, read[0], read[1]) for tick, read in zip(found, self._read("ticks", found), strict=True)]

    def liquidity_profile(self, lower_tick: int | None = None, upper_tick: int | None = None) -> list[LiquidityRange]:
        """Return the active liquidity at every price from `lower_tick` to `upper_tick`.

        Defaults to half the current price up to its double. The range of the current tick has the liquidity that trades
        now.
        """
        current, liquidity = self.tick, self.liquidity
        lower, upper = self._range(
            current - _DOUBLE if lower_tick is None else lower_tick,
            current + _DOUBLE if upper_tick is None else upper_tick,
        )
        ticks = self.ticks(min(lower, current), max(upper, current))
        # Liquidity below the lowest tick: undo every crossing up to the current price.
        liquidity -= sum(tick.liquidity_net for tick in ticks if tick.tick <= current)
        profile, start = [], lower
        for tick in ticks:
            if tick.tick >= upper:
                break
            if tick.tick > start:
                profile.append(LiquidityRange(start, tick.tick, liquidity))
                start = tick.tick
            liquidity += tick.liquidity_net
        profile.append(LiquidityRange(start, upper, liquidity))
        return profile

    def _range(self, lower: int, upper: int) -> tuple[int, int]:
        lower, upper = tick_number(lower), tick_number(upper)
        if lower >= upper:
            raise BadArgument(f"the range from tick {lower} to {upper} is empty", "give the lower tick first")
        return max(lower, MIN_TICK), min(upper, MAX_TICK)

    def _read(self, name: str, arguments: Iterable[int]) -> list[Any]:
        function = self.contract.interface.function(name)
        datas = [function.encode(argument) for argument in arguments]
        return [function.decode(output) for output in self.fork.call_many(self.address, datas)]

    def _is_token0(self, token: AddressLike) -> bool:
        place = address_on(self.fork, token)
        if place not in (self.token0.address, self.token1.address):
            raise UnknownName(
                f"{self.fork.name(place)} is not in {self!r}",
                f"its tokens are {self.token0.symbol} and {self.token1.symbol}",
            )
        return place == self.token0.address

    def __repr__(self) -> str:
        name = self.fork.name(self.address)
        if name.startswith("0x"):
            name = f"UniswapV3.{self.token0.symbol}/{self.token1.symbol}.{self.fee} at {checksum(self.address)}"
        return f"<pool {name}>"


def tick_number(tick: SupportsIndex) -> int:
    """Return `tick` as an int; accepts NumPy integers, raises `BadInteger` otherwise."""
    try:
        return as_integer(tick)
    except TypeError:
        raise BadInteger(f"tick {tick!r} is not an integer", "`pool.tick_at(price, token)` gives one") from None


def _set_bits(word: int) -> Iterable[int]:
    while word:
        low = word & -word
        yield low.bit_length() - 1
        word ^= low
