"""Uniswap V4 pools, quotes, swaps and positions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import ActionRefused, BadArgument, BadInteger, CallReverted, UnknownName
from mayavi.evm.address import AddressLike
from mayavi.evm.arguments import word
from mayavi.evm.units import Amount
from mayavi.protocols.arguments import address_on, amount_list, chain_name, require_fork
from mayavi.protocols.uniswap_v4.creation import create_pool
from mayavi.protocols.uniswap_v4.currency import Currency
from mayavi.protocols.uniswap_v4.pool import UniswapV4Pool
from mayavi.protocols.uniswap_v4.pool_key import Fee, PoolKey, Route, RouteLike
from mayavi.protocols.uniswap_v4.position import Minted, UniswapV4Position, mint
from mayavi.protocols.uniswap_v4.reverts import unwrapped
from mayavi.protocols.uniswap_v4.router import router_of, wrapped_ends
from mayavi.worlds.deploy.uniswap_v4 import uniswap_v4_labels

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt

_KEY = "(address currency0, address currency1, uint24 fee, int24 tickSpacing, address hooks)"
_HOP = "(address intermediateCurrency, uint24 fee, int24 tickSpacing, address hooks, bytes hookData)"
_ONE = f"({_KEY} poolKey, bool zeroForOne, uint128 exactAmount, bytes hookData) params"
_MANY = f"(address exactCurrency, {_HOP}[] path, uint128 exactAmount) params"
_QUOTER = [
    f"quoteExactInputSingle({_ONE}) returns (uint256 amountOut, uint256 gasEstimate)",
    f"quoteExactOutputSingle({_ONE}) returns (uint256 amountIn, uint256 gasEstimate)",
    f"quoteExactInput({_MANY}) returns (uint256 amountOut, uint256 gasEstimate)",
    f"quoteExactOutput({_MANY}) returns (uint256 amountIn, uint256 gasEstimate)",
]
_POSITIONS = [f"poolKeys(bytes25 poolId) view returns {_KEY}"]
_LARGEST = 2**127 - 1


class Quote(NamedTuple):
    """Result a swap would have now."""

    amount_in: int
    amount_out: int
    gas_estimate: int


class Swap(NamedTuple):
    """Result of a swap: amounts moved, and the receipt."""

    amount_in: int
    amount_out: int
    receipt: Receipt


class UniswapV4:
    """Uniswap V4 on a fork that has it; `deploy_uniswap_v4(fork)` of `mayavi.worlds.deploy.uniswap_v4` puts it there.

    Currencies are labels of the fork or addresses, and `"ETH"` for the native coin. A route is `("ETH", "USDC", 500)`,
    or currencies and fees in turn; a fee is a number of millionths, or `(fee, tick spacing)`, or `(fee, tick spacing,
    hooks)`. Amounts are integers in smallest units. Swaps go through a router of ours and approve exactly what they
    need; one that fails leaves the fork unchanged.

        uni = UniswapV4(fork)
        quote = uni.quote_exact_input(("ETH", "USDC", 500), 10**18)
        swap = uni.swap_exact_input(("ETH", "USDC", 500), 10**18, sender=alice, min_amount_out=quote.amount_out)
    """

    def __init__(self, fork: Fork) -> None:
        require_fork(fork, "UniswapV4")
        labels = uniswap_v4_labels(fork)
        if not labels:
            raise UnknownName(
                f"no Uniswap V4 is known on this fork of {chain_name(fork)}",
                "deploy it: `from mayavi.worlds.deploy.uniswap_v4 import deploy_uniswap_v4; deploy_uniswap_v4(fork)`",
            )
        fork.labels.update(labels)
        self.fork = fork
        self.quoter = fork.contract("UniswapV4.Quoter", _QUOTER)

    # -- pools --------------------------------------------------------------------------------------------------------

    def pool(self, currency: AddressLike, other: AddressLike, fee: Fee) -> UniswapV4Pool:
        """Return the pool of two currencies, in either order; raise `UnknownName` if it was never initialised."""
        return self.pool_by_key(PoolKey.of(self.fork, currency, other, fee))

    def pool_by_key(self, key: PoolKey) -> UniswapV4Pool:
        """Return the pool of a key."""
        pool = UniswapV4Pool(self.fork, key)
        if not pool.sqrt_price_x96:
            raise UnknownName(
                f"there is no {pool}",
                "`create_pool` makes it, `uniswap_v4_pools` in a scenario; fee and tick spacing are part of its name",
            )
        return pool

    def pool_by_id(self, pool_id: bytes | str) -> UniswapV4Pool:
        """Return the pool of an id; only the position manager knows the key, once it minted a position there."""
        number = bytes.fromhex(pool_id.removeprefix("0x")) if isinstance(pool_id, str) else bytes(pool_id)
        if len(number) != 32:
            raise BadArgument(f"{pool_id!r} is not the id of a pool", "an id has 32 bytes")
        key = PoolKey(*self.fork.contract("UniswapV4.PositionManager", _POSITIONS).poolKeys(number[:25]))
        if key.id != number:
            raise UnknownName(
                f"the position manager knows no pool 0x{number.hex()}", "name its currencies, fee and tick spacing"
            )
        return self.pool_by_key(key)

    def create_pool(self, currency: AddressLike, other: AddressLike, fee: Fee, price: Amount) -> UniswapV4Pool:
        """Create a pool without liquidity in which one whole `currency` costs `price` whole `other`."""
        return create_pool(self.fork, currency, other, fee, price)

    # -- quotes -------------------------------------------------------------------------------------------------------

    def quote_exact_input(self, route: RouteLike | Route, amount_in: int) -> Quote:
        """Quote the output for `amount_in`; raise `CallReverted` if the pools cannot take that much."""
        return self.quote_exact_inputs(route, [amount_in])[0]

    def quote_exact_output(self, route: RouteLike | Route, amount_out: int) -> Quote:
        """Quote the cost of `amount_out`; raise `CallReverted` if the pools cannot give that much."""
        return self.quote_exact_outputs(route, [amount_out])[0]

    def quote_exact_inputs(self, route: RouteLike | Route, amounts_in: Iterable[int]) -> list[Quote]:
        """Quote many input amounts, each on the current state."""
        return self._quotes(Route.of(self.fork, route), amount_list(amounts_in), exact_input=True)

    def quote_exact_outputs(self, route: RouteLike | Route, amounts_out: Iterable[int]) -> list[Quote]:
        """Quote many output amounts, each on the current state."""
        return self._quotes(Route.of(self.fork, route), amount_list(amounts_out), exact_input=False)

    # -- swaps --------------------------------------------------------------------------------------------------------

    def swap_exact_input(
        self,
        route: RouteLike | Route,
        amount_in: int,
        *,
        sender: AddressLike,
        min_amount_out: int = 0,
        recipient: AddressLike | None = None,
        deadline: int | None = None,
        sqrt_price_limit_x96: int = 0,
        wrapped: bool = False,
    ) -> Swap:
        """Sell `amount_in` for at least `min_amount_out`.

        With a price limit, which needs a single pool, it may sell less. `recipient` defaults to the sender, `deadline`
        (a Unix time) to this block. `wrapped` takes and gives the wrapped coin where the route has ether at an end.
        """
        way = Route.of(self.fork, route)
        self._check(way, [amount_in])
        terms = amount_in, word(min_amount_out), amount_in
        ends = wrapped_ends(self.fork, way) if wrapped else (way.currency_in, way.currency_out)
        return self._swap("swap_exact_input", way, ends, terms, sender, recipient, deadline, sqrt_price_limit_x96)

    def swap_exact_output(
        self,
        route: RouteLike | Route,
        amount_out: int,
        *,
        sender: AddressLike,
        max_amount_in: int | None = None,
        recipient: AddressLike | None = None,
        deadline: int | None = None,
    ) -> Swap:
        """Buy `amount_out` for at most `max_amount_in` (default: as quoted)."""
        way = Route.of(self.fork, route)
        needed = self._quotes(way, [amount_out], exact_input=False)[0].amount_in
        terms = amount_out, needed if max_amount_in is None else word(max_amount_in), needed
        ends = way.currency_in, way.currency_out
        return self._swap("swap_exact_output", way, ends, terms, sender, recipient, deadline, 0)

    # -- positions ----------------------------------------------------------------------------------------------------

    def mint(
        self,
        pool: UniswapV4Pool,
        lower_tick: int,
        upper_tick: int,
        amounts: tuple[int, int],
        *,
        sender: AddressLike,
        recipient: AddressLike | None = None,
    ) -> Minted:
        """Mint a position between two ticks with as much liquidity as `amounts` of both currencies allow."""
        return mint(pool, (lower_tick, upper_tick), amounts, sender=sender, recipient=recipient)

    def position(self, token_id: int) -> UniswapV4Position:
        """Return a position by its token id."""
        return UniswapV4Position(self.fork, token_id)

    # -- internals ----------------------------------------------------------------------------------------------------

    def _quotes(self, route: Route, amounts: list[int], *, exact_input: bool) -> list[Quote]:
        self._check(route, amounts)
        name = "quoteExactInput" if exact_input else "quoteExactOutput"
        if len(route.keys) == 1:
            function, key = self.quoter.interface.function(f"{name}Single"), route.keys[0]
            forwards = key.currency0 == route.currency_in
            datas = [function.encode((tuple(key), forwards, amount, b"")) for amount in amounts]
        else:
            function, currencies = self.quoter.interface.function(name), route.currencies
            between = currencies[1:] if exact_input else currencies[:-1]
            path = [(each, *key[2:], b"") for each, key in zip(between, route.keys, strict=True)]
            exact = currencies[0] if exact_input else currencies[-1]
            datas = [function.encode((exact, path, amount)) for amount in amounts]
        quotes = []
        for amount, data, output in zip(
            amounts, datas, self.fork.call_many(self.quoter.address, datas, check=False), strict=True
        ):
            if output is None:
                try:  # repeat alone: raises the detailed error
                    output = self.fork.call(self.quoter.address, data)
                except CallReverted as error:
                    raise self._explain(error, "a quote", route, amount, exact_input) from None
            other, gas = function.decode(output)
            quotes.append(Quote(amount, other, gas) if exact_input else Quote(other, amount, gas))
        return quotes

    def _swap(
        self,
        name: str,
        route: Route,
        ends: tuple[bytes, bytes],
        terms: tuple[int, int, int],
        sender: AddressLike,
        recipient: AddressLike | None,
        deadline: int | None,
        limit: int,
    ) -> Swap:
        """Swap by `terms`: the exact amount, the bound of the other, and the most that is paid."""
        fork, payer, router = self.fork, address_on(self.fork, sender), router_of(self.fork)
        amount, bound, most = terms
        receiver = payer if recipient is None else address_on(fork, recipient)
        until = fork.timestamp if deadline is None else word(deadline, "deadline")
        keys = [tuple(key) for key in route.keys]
        with Currency(fork, ends[0]).paying(router.address, most, payer) as value:
            try:
                receipt = router[name].send(
                    keys, *ends, amount, bound, receiver, until, limit, sender=payer, value=value
                )
            except CallReverted as error:
                raise self._explain(error, "a swap", route, amount, name == "swap_exact_input") from None
        paid, received = router[name].function.decode(receipt.output)
        return Swap(paid, received, receipt)

    def _check(self, route: Route, amounts: list[int]) -> None:
        for amount in amounts:
            if not word(amount):
                raise ActionRefused("a swap of 0 moves nothing", "give an amount above zero, in smallest units")
            if amount > _LARGEST:
                raise BadInteger(f"amount {amount} is more than a pool can count", "amounts are below 2**127")

    def _explain(
        self, error: CallReverted, what: str, route: Route, amount: int, exact_input: bool
    ) -> CallReverted | UnknownName:
        """Return the error with the request in its message; names a pool that does not exist."""
        for key in route.keys:
            try:
                self.pool_by_key(key)
            except UnknownName as missing:
                return missing
        sold, bought = Currency(self.fork, route.currency_in), Currency(self.fork, route.currency_out)
        said = f"{sold.text(amount)} for {bought.symbol}" if exact_input else f"{sold.symbol} for {bought.text(amount)}"
        return unwrapped(error, f"{what} of {said}")

    def __repr__(self) -> str:
        return f"<Uniswap V4 on {chain_name(self.fork)}>"
