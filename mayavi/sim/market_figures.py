"""Readers of market figures: lending markets, pools, feeds and outside prices. Those of accounts are in
`population_figures`.

A reader looks up addresses and decimals once, and then needs few calls per step. A figure is exact: an integer and its
unit; `number(value, unit)` is the float for plots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mayavi.evm.abi.erc20 import BALANCE_OF, TOTAL_SUPPLY
from mayavi.evm.address import ZERO_ADDRESS
from mayavi.evm.units import RAY, WAD
from mayavi.protocols.aave.market import AaveV3
from mayavi.protocols.chainlink.price_feed import PriceFeed
from mayavi.protocols.tokens import Erc20
from mayavi.sim.figure_table import Figure, FigureTable, TableNames, table_names

if TYPE_CHECKING:
    from mayavi.protocols.compound.market import CompoundV3
    from mayavi.protocols.curve.pool import CurveStableSwap
    from mayavi.protocols.uniswap.pool import UniswapV3Pool
    from mayavi.sim.world_state import WorldState

Call = tuple[bytes, bytes]
"""Address of a contract, and calldata."""


class Reader(Protocol):
    """Protocol for readers. `worth(token)` is a token's price in dollars with eight decimals, or None."""

    def read(self, world: WorldState, worth: Callable[[bytes], int | None]) -> Iterable[Figure]:
        """Read the current figures."""


class BatchReader:
    """Base class of readers whose figures depend only on the outputs of calls, which many runs can share."""

    def calls(self, world: WorldState) -> tuple[Call, ...]:
        """Return the calls, the same after every step; empty if this reader cannot be batched."""
        del world
        return ()

    def figures_of(self, world: WorldState, outputs: Sequence[bytes | None]) -> FigureTable | None:
        """Compute the figures from `outputs` and the step alone, so that runs with equal outputs share them.

        None if an output is missing or malformed; `read` then raises the reason.
        """
        del world, outputs
        return None


# -- lending ----------------------------------------------------------------------------------------------------------


class _Reserve(NamedTuple):
    """Constant facts of a reserve, and the calls that read its state."""

    subject: str
    address: bytes
    unit: str
    whole: int
    """Smallest units of one token."""
    data: bytes
    """Calldata of the pool's `getReserveData`."""
    price: bytes
    """Calldata of the oracle's `getAssetPrice`."""
    amounts: tuple[Call, ...]
    """Calls of supplied and available amounts, of the supply of each debt token, and of the deficit."""
    has_deficit: bool


class AaveFigures(BatchReader):
    """Reserves of an Aave V3 or Spark market: amounts, utilisation, rates, prices, and totals in dollars.

    `tvl` is the value the market holds: supplied and not lent out. `deficit` is debt that the pool burnt unpaid; pools
    keep it since V3.3.
    """

    def __init__(self, market: AaveV3, assets: Sequence[str] | None = None) -> None:
        self.market, self.name = market, market.prefix
        self._known_names: dict[tuple[bool, ...], TableNames] = {}
        self._oracle: Any = market.oracle
        chosen = None if assets is None else tuple(assets)
        # Read eagerly: runs that start in the same world share reads made before their first write.
        key = "reserves", market.pool.address, chosen
        self._reserves = market.fork.read_once(key, lambda: self._read_reserves(chosen))

    def _read_reserves(self, assets: tuple[str, ...] | None) -> list[_Reserve]:
        market = self.market
        chosen = market.pool.getReservesList() if assets is None else map(market.address_of, assets)
        return [self._read_reserve(Erc20(market.fork, address)) for address in chosen]

    def _read_reserve(self, token: Erc20) -> _Reserve:
        pool, generation = self.market.pool, self.market.generation
        address, fixed = token.address, self.market.reserve_data(token.address)
        debts = [each for each in (fixed.variableDebtToken, fixed.stableDebtToken) if each != ZERO_ADDRESS]
        available = address, BALANCE_OF + fixed.aToken.rjust(32, b"\0")
        if generation.virtual_balance:
            available = pool.address, pool.getVirtualUnderlyingBalance.encode(address)
        deficit = [(pool.address, pool.getReserveDeficit.encode(address))] if generation.deficits else []
        return _Reserve(
            subject=f"{self.name}.{token.symbol}",
            address=address,
            unit=f"e{token.decimals}",
            whole=int(10**token.decimals),
            data=pool.getReserveData.encode(address),
            price=self._oracle.getAssetPrice.encode(address),
            amounts=((fixed.aToken, TOTAL_SUPPLY), available, *((each, TOTAL_SUPPLY) for each in debts), *deficit),
            has_deficit=generation.deficits,
        )

    def prices_usd_e8(self, tokens: Sequence[bytes]) -> dict[bytes, int]:
        """Return the oracle prices of `tokens`, without those it does not price."""
        encode = self._oracle.getAssetPrice.encode
        prices = zip(tokens, self._prices([encode(each) for each in tokens]), strict=True)
        return {token: price for token, price in prices if price}

    def _prices(self, calls: list[bytes]) -> list[int]:
        """Return the oracle's prices; 0 for tokens that it does not price."""
        answers = self.market.fork.call_many(self._oracle.address, calls, check=False)
        return [int.from_bytes(answer) if answer else 0 for answer in answers]

    def read(self, world: WorldState, worth: Callable[[bytes], int | None]) -> FigureTable:
        """Read the figures of each reserve, then the totals of the market."""
        del worth
        fork, reserves = world.fork, self._reserves
        outputs = fork.call_many(self.market.pool.address, [each.data for each in reserves])
        prices = self._prices([each.price for each in reserves])
        rest = [[int.from_bytes(fork.call(*call)) for call in each.amounts] for each in reserves]
        return self._figures(outputs, prices, rest)

    def calls(self, world: WorldState) -> tuple[Call, ...]:
        """Return the calls of all reserves."""
        del world
        return self._calls

    @cached_property
    def _calls(self) -> tuple[Call, ...]:
        pool, oracle, reserves = self.market.pool.address, self._oracle.address, self._reserves
        amounts = (call for each in reserves for call in each.amounts)
        return (*((pool, each.data) for each in reserves), *((oracle, each.price) for each in reserves), *amounts)

    def figures_of(self, world: WorldState, outputs: Sequence[bytes | None]) -> FigureTable | None:
        """Return the figures of each reserve, then the totals of the market.

        Tokens without an oracle price are allowed.
        """
        del world
        count = len(self._reserves)
        data, answers, rest = outputs[:count], outputs[count : 2 * count], outputs[2 * count :]
        if not all(data) or not all(rest) or b"" in answers:
            return None
        prices = [int.from_bytes(answer) if answer else 0 for answer in answers]
        numbers = iter(rest)
        amounts = [[int.from_bytes(next(numbers) or b"") for _ in each.amounts] for each in self._reserves]
        return self._figures(data, prices, amounts)

    def _figures(
        self, outputs: Sequence[bytes | None], prices: Sequence[int], amounts: Sequence[Sequence[int]]
    ) -> FigureTable:
        """Return the figures of reserves with these data, prices, and outputs of their `amounts`."""
        supply_rate, borrow_rate = (slice(32 * word, 32 * word + 32) for word in self.market.rate_words)
        all_supplied = all_borrowed = held = 0
        values: list[int] = []
        for each, data, price, (supplied, available, *rest) in zip(
            self._reserves, outputs, prices, amounts, strict=True
        ):
            deficit = [rest.pop()] if each.has_deficit else []
            borrowed = sum(rest)
            total = borrowed + available
            assert data is not None
            utilisation = borrowed * RAY // total if total else 0
            rates = int.from_bytes(data[supply_rate]), int.from_bytes(data[borrow_rate])
            values += [supplied, borrowed, available, utilisation, *rates, *deficit]
            if price:
                values.append(price)
                all_supplied += supplied * price // each.whole
                all_borrowed += borrowed * price // each.whole
                held += available * price // each.whole
        return FigureTable(self._names(tuple(map(bool, prices))), [*values, all_supplied, all_borrowed, held])

    def _names(self, priced: tuple[bool, ...]) -> TableNames:
        """Return the names of the figures where these reserves have a price."""
        known = self._known_names.get(priced)
        if known is None:
            listed: list[tuple[str, str, str]] = []
            for each, has_price in zip(self._reserves, priced, strict=True):
                units = _RESERVE_UNITS | ({"deficit": ""} if each.has_deficit else {})
                units |= {"price": "usd_e8"} if has_price else {}
                listed += [(each.subject, metric, unit or each.unit) for metric, unit in units.items()]
            listed += [(self.name, metric, "usd_e8") for metric in ("supplied", "borrowed", "tvl")]
            known = self._known_names[priced] = table_names(*zip(*listed, strict=True))
        return known


_RESERVE_UNITS = {
    "supplied": "",
    "borrowed": "",
    "available": "",
    "utilisation": "ray",
    "supply_rate": "ray",
    "borrow_rate": "ray",
}
"""Units of a reserve's figures; an empty one is the unit of its token."""


class CompoundFigures:
    """A Compound V3 market: supply, borrowing, rates, reserves (negative after bad debt), collateral."""

    def __init__(self, market: CompoundV3, assets: Sequence[str] | None = None) -> None:
        self.market, self.name = market, f"CompoundV3.{market.symbol}"
        self._chosen = assets

    @cached_property
    def _fixed(self) -> tuple[Erc20, str, list[Any]]:
        market = self.market
        assets = market.assets if self._chosen is None else [market.asset(each) for each in self._chosen]
        return market.base, "eth_e8" if market.quote == "ETH" else "usd_e8", assets

    def read(self, world: WorldState, worth: Callable[[bytes], int | None]) -> Iterator[Figure]:
        """Read the figures of the market, then those of its collateral assets."""
        from mayavi.protocols.compound.market import YEAR_SECONDS

        del worth
        market, comet = self.market, self.market.contract
        base, quote, assets = self._fixed
        unit, rates = f"e{base.decimals}", market.rates()
        cash = _balance(world.fork, base.address, market.address)
        price = market.price_e8()
        yield Figure(self.name, "supplied", int(comet.totalSupply()), unit)
        yield Figure(self.name, "borrowed", int(comet.totalBorrow()), unit)
        yield Figure(self.name, "available", cash, unit)
        yield Figure(self.name, "reserves", market.reserves, unit)
        yield Figure(self.name, "utilisation", rates.utilisation_wad, "wad")
        yield Figure(self.name, "supply_rate", rates.supply_per_second_wad * YEAR_SECONDS, "wad")
        yield Figure(self.name, "borrow_rate", rates.borrow_per_second_wad * YEAR_SECONDS, "wad")
        yield Figure(self.name, "price", price, quote)
        held = cash * price // 10**base.decimals
        for asset in assets:
            subject, amount = f"{self.name}.{asset.symbol}", _balance(world.fork, asset.address, market.address)
            price = int(comet.getPrice(asset.price_feed))
            yield Figure(
                subject, "supplied", comet.totalsCollateral(asset.address).totalSupplyAsset, f"e{asset.decimals}"
            )
            yield Figure(subject, "available", amount, f"e{asset.decimals}")
            yield Figure(subject, "price", price, quote)
            held += amount * price // 10**asset.decimals
        yield Figure(self.name, "tvl", held, quote)


# -- pools and prices -------------------------------------------------------------------------------------------------


class UniswapFigures:
    """A Uniswap V3 pool: price of the first token of its name in the second, active liquidity, balances."""

    def __init__(self, pool: UniswapV3Pool, base: str | None = None) -> None:
        self.pool, self.name = pool, pool.fork.name(pool.address)
        first = self.name.removeprefix("UniswapV3.").partition("/")[0] if base is None else base
        self._base_is_0 = pool.token1.symbol != first

    @property
    def tokens(self) -> tuple[bytes, ...]:
        """Addresses of the tokens it trades."""
        return self.pool.token0.address, self.pool.token1.address

    def read(self, world: WorldState, worth: Callable[[bytes], int | None]) -> Iterator[Figure]:
        """Read the figures; `tvl` only if both tokens have a price."""
        pool = self.pool
        root, tick = pool.contract.slot0()[:2]
        yield Figure(self.name, "price", pool_price_wad(pool, root, base_is_0=self._base_is_0), "wad")
        yield Figure(self.name, "sqrt_price", root, "x96")
        yield Figure(self.name, "tick", tick, "tick")
        yield Figure(self.name, "liquidity", pool.liquidity, "liquidity")
        yield from _held(world, self.name, pool.address, (pool.token0, pool.token1), worth)


class CurveFigures:
    """Figures of a Curve pool: balances, virtual price, and the price of each coin in the first coin."""

    def __init__(self, pool: CurveStableSwap) -> None:
        self.pool, self.name = pool, pool.name

    @property
    def tokens(self) -> tuple[bytes, ...]:
        """Addresses of the tokens it trades."""
        return tuple(coin.address for coin in self.pool.coins)

    def read(self, world: WorldState, worth: Callable[[bytes], int | None]) -> Iterator[Figure]:
        """Read the figures; `price_USDC` is the price of one USDC in the pool's first coin, after the fee."""
        pool = self.pool
        yield Figure(self.name, "virtual_price", pool.virtual_price_wad, "wad")
        yield Figure(self.name, "amplification", pool.a, "count")
        first = pool.coins[0]
        for index, coin in enumerate(pool.coins[1:], 1):
            bought = pool.quote(index, 0, 10**coin.decimals)
            yield Figure(self.name, f"price_{coin.symbol}", bought * WAD // 10**first.decimals, "wad")
        yield from _held(world, self.name, pool.address, pool.coins, worth)


class FeedFigures:
    """The answer of a Chainlink price feed, for hooks that watch a feed no lending market uses."""

    def __init__(self, feed: PriceFeed) -> None:
        self.feed, self.name = feed, feed.name
        decimals = feed.decimals
        self.unit = "usd_e8" if decimals == 8 and feed.name.endswith("USD") else f"e{decimals}"

    def read(self, world: WorldState, worth: Callable[[bytes], int | None]) -> Iterator[Figure]:
        """Read the feed's answer."""
        del world, worth
        yield Figure(self.name, "price", self.feed.answer, self.unit)


class OutsidePrices:
    """Prices off chain: the price processes of the run."""

    def __init__(self, symbols: Sequence[str]) -> None:
        self.symbols = tuple(symbols)

    def read(self, world: WorldState, worth: Callable[[bytes], int | None]) -> Iterator[Figure]:
        """Read the price of each symbol at this step."""
        del worth
        for symbol in self.symbols:
            yield Figure(symbol, "market_price", world.price_usd_e8(symbol), "usd_e8")


def pool_price_wad(pool: UniswapV3Pool, sqrt_price_x96: int, *, base_is_0: bool) -> int:
    """Convert a square root price to whole quote tokens per whole base token, with 18 decimals, rounded down."""
    decimals0, decimals1 = pool.token0.decimals, pool.token1.decimals
    square, one = sqrt_price_x96**2, 1 << 192
    price = Fraction(square * 10**decimals0, one * 10**decimals1)
    return int(WAD * (price if base_is_0 else 1 / price))


def _held(
    world: WorldState, name: str, place: bytes, tokens: Sequence[Erc20], worth: Callable[[bytes], int | None]
) -> Iterator[Figure]:
    held: int | None = 0
    for token in tokens:
        amount = _balance(world.fork, token.address, place)
        yield Figure(name, f"balance_{token.symbol}", amount, f"e{token.decimals}")
        price = worth(token.address)
        held = None if held is None or price is None else held + amount * price // 10**token.decimals
    if held is not None:
        yield Figure(name, "tvl", held, "usd_e8")


def _balance(fork: Any, token: bytes, holder: bytes) -> int:
    return int.from_bytes(fork.call(token, BALANCE_OF + holder.rjust(32, b"\0")))
