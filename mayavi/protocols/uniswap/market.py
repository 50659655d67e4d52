"""Uniswap V3 pools, quotes, swaps and positions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from mayavi.errors import ActionRefused, BadArgument, BadInteger, CallReverted, MissingStateError, UnknownName
from mayavi.evm.abi.interface import Event
from mayavi.evm.address import ZERO_ADDRESS, AddressLike
from mayavi.evm.arguments import word
from mayavi.protocols.arguments import address_on, amount_list, chain_name, require_fork
from mayavi.protocols.revert_context import reason_text
from mayavi.protocols.tokens import Erc20, send_spending, spending
from mayavi.protocols.uniswap.amount_quoter import AmountQuoter
from mayavi.protocols.uniswap.liquidity import Amounts
from mayavi.protocols.uniswap.pool import LiquidityRange, Tick, UniswapV3Pool
from mayavi.protocols.uniswap.position import Minted, UniswapV3Position, mint
from mayavi.protocols.uniswap.reverts import explain
from mayavi.protocols.uniswap.route import Route, RouteLike
from mayavi.protocols.uniswap.router import Router, Terms, router_names
from mayavi.worlds.missing import hint_for_missing

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt

__all__ = ["LiquidityRange", "Quote", "Swap", "Tick", "UniswapV3", "UniswapV3Pool", "UniswapV3Position"]

_FACTORY = ["getPool(address tokenA, address tokenB, uint24 fee) view returns (address)"]
_ONE = "(uint256 amount, uint160 sqrtPriceX96After, uint32 initializedTicksCrossed, uint256 gasEstimate)"
_MANY = "(uint256 amount, uint160[] sqrtPriceX96After, uint32[] initializedTicksCrossed, uint256 gasEstimate)"
_QUOTER = [
    "quoteExactInputSingle((address tokenIn, address tokenOut, uint256 amountIn, uint24 fee, uint160 limit) params)"
    f" returns {_ONE}",
    "quoteExactOutputSingle((address tokenIn, address tokenOut, uint256 amount, uint24 fee, uint160 limit) params)"
    f" returns {_ONE}",
    f"quoteExactInput(bytes path, uint256 amountIn) returns {_MANY}",
    f"quoteExactOutput(bytes path, uint256 amountOut) returns {_MANY}",
]
_SWAP = Event.parse(
    "Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96,"
    " uint128 liquidity, int24 tick)"
)
_NEEDED = ("UniswapV3.Factory", "UniswapV3.QuoterV2")
_LARGEST = 2**255 - 1  # pool amounts are signed
_TIERS = (100, 200, 300, 400, 500, 3000, 10_000)  # those between 100 and 500 exist on Base


PoolLike = UniswapV3Pool | AddressLike | Sequence[AddressLike | int]
"""A pool, its name or address, or its tokens and fee: `("WETH", "USDC", 500)`."""


class Quote(NamedTuple):
    """Result a swap would have now. Prices and crossings have one entry per pool of the route.

    If a pool runs out of liquidity, less than `amount_in` is spent; `Swap.amount_in` is the actual amount.
    """

    amount_in: int
    amount_out: int
    sqrt_prices_after_x96: tuple[int, ...]
    ticks_crossed: tuple[int, ...]
    gas_estimate: int


class Swap(NamedTuple):
    """Result of a swap: amounts moved, and the receipt."""

    amount_in: int
    amount_out: int
    receipt: Receipt


class UniswapV3:
    """Uniswap V3 on the fork's chain. Tokens are labels of the fork or addresses.

    A route is `("WETH", "USDC", 500)`, or tokens and fees in turn: `("WBTC", 3000, "WETH", 500, "USDC")`; fees are in
    millionths. Amounts are integers in the token's smallest unit. Swaps approve exactly what they need; one that fails
    leaves the fork unchanged. The native coin trades as its wrapped token.

        uni = UniswapV3(fork)
        quote = uni.quote_exact_input(("WETH", "USDC", 500), 10**18)
        swap = uni.swap_exact_input(("WETH", "USDC", 500), 10**18, sender=alice, min_amount_out=quote.amount_out)
    """

    def __init__(self, fork: Fork) -> None:
        require_fork(fork, "UniswapV3")
        for label in _NEEDED:
            if label not in fork.labels or not _has_code(fork, label):
                raise UnknownName(
                    f"no Uniswap V3 is known on this fork of {chain_name(fork)}: {label} is not there",
                    hint_for_missing(fork, f'name its contracts: fork.labels["{label}"] = "0x…"'),
                )
        self.fork = fork
        self.factory = fork.contract("UniswapV3.Factory", _FACTORY)
        self.quoter = fork.contract("UniswapV3.QuoterV2", _QUOTER)
        self._found: tuple[tuple[str | None, str | None], Router] | None = None

    # -- pools --------------------------------------------------------------------------------------------------------

    def pool(self, token: AddressLike, other: AddressLike, fee: int) -> UniswapV3Pool:
        """Return the pool of two tokens, in either order, by its fee; `UnknownName` lists those that exist."""
        route = Route.of(self.fork, (token, other, fee))
        address = self._pool_address(*route.hops[0])
        if address is None:
            raise self._no_pool(*route.hops[0])
        return UniswapV3Pool(self.fork, address)

    def pools(self, token: AddressLike, other: AddressLike) -> list[UniswapV3Pool]:
        """Return all pools of two tokens, by rising fee."""
        pair = address_on(self.fork, token), address_on(self.fork, other)
        addresses = (self._pool_address(*pair, fee) for fee in self._fees())
        return [UniswapV3Pool(self.fork, address) for address in addresses if address is not None]

    # -- quotes -------------------------------------------------------------------------------------------------------

    def quote_exact_input(self, route: RouteLike, amount_in: int, *, sqrt_price_limit_x96: int = 0) -> Quote:
        """Quote the output for `amount_in` of the route's first token. A price limit needs a single-pool route."""
        return self.quote_exact_inputs(route, [amount_in], sqrt_price_limit_x96=sqrt_price_limit_x96)[0]

    def quote_exact_output(self, route: RouteLike, amount_out: int, *, sqrt_price_limit_x96: int = 0) -> Quote:
        """Quote the cost of `amount_out` of the route's last token. A price limit needs a single-pool route."""
        return self.quote_exact_outputs(route, [amount_out], sqrt_price_limit_x96=sqrt_price_limit_x96)[0]

    def quote_exact_inputs(
        self, route: RouteLike, amounts_in: Iterable[int], *, sqrt_price_limit_x96: int = 0
    ) -> list[Quote]:
        """Quote many input amounts, each on the current state."""
        return self._quotes(Route.of(self.fork, route), amount_list(amounts_in), sqrt_price_limit_x96, exact_input=True)

    def quote_exact_outputs(
        self, route: RouteLike, amounts_out: Iterable[int], *, sqrt_price_limit_x96: int = 0
    ) -> list[Quote]:
        """Quote many output amounts, each on the current state."""
        return self._quotes(
            Route.of(self.fork, route), amount_list(amounts_out), sqrt_price_limit_x96, exact_input=False
        )

    def amounts_out(self, route: RouteLike, amounts_in: Iterable[int], *, sqrt_price_limit_x96: int = 0) -> list[int]:
        """Return `amount_out` of `quote_exact_inputs`, which is faster without the rest of a quote."""
        way, amounts = Route.of(self.fork, route), amount_list(amounts_in)
        return self._amounts(way, amounts, sqrt_price_limit_x96, exact_input=True)

    def amount_in(self, route: RouteLike, amount_out: int, *, sqrt_price_limit_x96: int = 0) -> int:
        """Return `amount_in` of `quote_exact_output`, which is faster without the rest of a quote."""
        return self._amounts(Route.of(self.fork, route), [amount_out], sqrt_price_limit_x96, exact_input=False)[0]

    # -- swaps --------------------------------------------------------------------------------------------------------

    def swap_exact_input(
        self,
        route: RouteLike,
        amount_in: int,
        *,
        sender: AddressLike,
        min_amount_out: int = 0,
        recipient: AddressLike | None = None,
        deadline: int | None = None,
        sqrt_price_limit_x96: int = 0,
    ) -> Swap:
        """Sell `amount_in` of the route's first token for at least `min_amount_out` of its last.

        `recipient` defaults to the sender, `deadline` (a Unix time) to this block.
        """
        way = Route.of(self.fork, route)
        self._check(way, [amount_in], sqrt_price_limit_x96, exact_input=True)
        bound = word(min_amount_out)
        return self._swap(way, amount_in, bound, amount_in, True, sender, recipient, deadline, sqrt_price_limit_x96)

    def swap_exact_output(
        self,
        route: RouteLike,
        amount_out: int,
        *,
        sender: AddressLike,
        max_amount_in: int | None = None,
        recipient: AddressLike | None = None,
        deadline: int | None = None,
        sqrt_price_limit_x96: int = 0,
    ) -> Swap:
        """Buy `amount_out` of the route's last token for at most `max_amount_in` of its first (default: as quoted).

        `recipient` defaults to the sender, `deadline` (a Unix time) to this block.
        """
        way = Route.of(self.fork, route)
        needed = self._amounts(way, [amount_out], sqrt_price_limit_x96, exact_input=False)[0]
        bound = needed if max_amount_in is None else word(max_amount_in)
        return self._swap(way, amount_out, bound, needed, False, sender, recipient, deadline, sqrt_price_limit_x96)

    # -- positions ----------------------------------------------------------------------------------------------------

    def mint(
        self,
        pool: PoolLike,
        lower_tick: int,
        upper_tick: int,
        amounts: Amounts,
        *,
        sender: AddressLike,
        min_amounts: Amounts | None = None,
        recipient: AddressLike | None = None,
        deadline: int | None = None,
    ) -> Minted:
        """Mint a position between two ticks with as much liquidity as `amounts` allow.

        Returns the position, its liquidity and the amounts of both tokens taken; only these have to be in the sender's
        balance. A range around the price takes both tokens in its own proportion, a range beside it only one.
        `pool.tick_at` finds ticks. `pool` is a pool of this fork, its label or address, or `("WETH", "USDC", 500)`.
        """
        found = self._pool_of(pool)
        return mint(found, lower_tick, upper_tick, amounts, sender, min_amounts, recipient, deadline)

    def position(self, token_id: int) -> UniswapV3Position:
        """Return a position by its token id."""
        return UniswapV3Position(self.fork, token_id)

    def positions_of(self, owner: AddressLike) -> list[UniswapV3Position]:
        """Return all positions of `owner`."""
        return UniswapV3Position.held_by(self.fork, owner)

    # -- internals ----------------------------------------------------------------------------------------------------

    def _amounts(self, route: Route, amounts: list[int], limit: int, *, exact_input: bool) -> list[int]:
        self._check(route, amounts, limit, exact_input=exact_input)
        if self._amount_quoter is not None:
            found = self._amount_quoter.amounts(route, amounts, limit, exact_input=exact_input)
            if found is not None:
                return found
        quotes = self._quotes(route, amounts, limit, exact_input=exact_input)
        return [quote.amount_out if exact_input else quote.amount_in for quote in quotes]

    @cached_property
    def _amount_quoter(self) -> AmountQuoter | None:
        return AmountQuoter.find(self.fork, self.factory.address)

    def _quotes(self, route: Route, amounts: list[int], limit: int, *, exact_input: bool) -> list[Quote]:
        self._check(route, amounts, limit, exact_input=exact_input)
        name = "quoteExactInput" if exact_input else "quoteExactOutput"
        if route.single:
            function = self.quoter.interface.function(name + "Single")
            hop = route.token_in, route.token_out
            datas = [function.encode((*hop, amount, route.fees[0], limit)) for amount in amounts]
        else:
            function = self.quoter.interface.function(name)
            path = route.path(backwards=not exact_input)
            datas = [function.encode(path, amount) for amount in amounts]
        quotes = []
        outputs: Sequence[bytes | None] = [None] * len(datas)
        if len(datas) > 1:
            outputs = self.fork.call_many(self.quoter.address, datas, check=False)
        for amount, data, output in zip(amounts, datas, outputs, strict=True):
            if output is None:
                try:  # alone, or again: raises the detailed error
                    output = self.fork.call(self.quoter.address, data)
                except CallReverted as error:
                    raise self._explain(error, "a quote", route, exact_input, amount, 0, limit) from None
            quotes.append(_quote(amount, function.decode(output), route, exact_input=exact_input))
        return quotes

    def _swap(
        self,
        route: Route,
        amount: int,
        bound: int,
        spent: int,
        exact_input: bool,
        sender: AddressLike,
        recipient: AddressLike | None,
        deadline: int | None,
        limit: int,
    ) -> Swap:
        payer = sender if type(sender) is bytes and len(sender) == 20 else address_on(self.fork, sender)
        router = self._router()
        terms: Terms = {
            "exact_input": exact_input,
            "recipient": payer if recipient is None else address_on(self.fork, recipient),
            "deadline": self.fork.timestamp if deadline is None else word(deadline, "deadline"),
            "sqrt_price_limit_x96": limit,
        }
        data = router.calldata(route, amount, bound, **terms)
        receipt = send_spending(self.fork, route.token_in, spent, router.address, data, payer)
        if receipt is not None and exact_input:  # all of the input was taken
            return Swap(spent, router.returned(receipt), receipt)
        if receipt is None:
            with spending(self.fork, route.token_in, router.address, spent, payer):
                try:
                    receipt = router.swap(route, amount, bound, sender=payer, **terms)
                except CallReverted as error:
                    raise self._explain(error, "a swap", route, exact_input, amount, bound, limit) from None
        # Swap events come in route order for exact input and exact output alike.
        swaps = [data for _, topics, data in receipt.logs if topics and topics[0] == _SWAP.topic and len(topics) == 3]
        first, last = (_moved(swaps[at]) for at in (0, -1))
        return Swap(max(first), -min(last), receipt)

    def _router(self) -> Router:
        names = router_names(self.fork)
        if self._found is None or self._found[0] != names:
            self._found = names, Router(self.fork)
        return self._found[1]

    def _check(self, route: Route, amounts: list[int], limit: int, *, exact_input: bool) -> None:
        if word(limit, "price limit") and not route.single:
            raise BadArgument("a price limit is for a swap through one pool", "limit the amount instead")
        if limit >= 2**160:
            raise BadInteger(
                f"price limit {limit} is not a square root price", "`pool.sqrt_price_x96` is the current one"
            )
        for amount in amounts:
            if not word(amount):
                token = Erc20(self.fork, route.token_in if exact_input else route.token_out)
                raise ActionRefused(f"a swap of 0 {token.symbol} moves nothing", "give an amount above zero")
            if amount > _LARGEST:
                raise BadInteger(f"amount {amount} is more than a pool can count", "amounts are below 2**255")

    def _explain(
        self, error: CallReverted, what: str, route: Route, exact_input: bool, amount: int, bound: int, limit: int
    ) -> CallReverted | UnknownName:
        """Return the error with the request in its message and the pools or amounts in its hint."""
        for hop in route.hops:
            if self._pool_address(*hop) is None:
                return self._no_pool(*hop)
        sold, bought = Erc20(self.fork, route.token_in), Erc20(self.fork, route.token_out)
        said = (sold.text(amount), bought.symbol) if exact_input else (sold.symbol, bought.text(amount))
        reason, hint = reason_text(error), None
        if reason == "Too little received":
            output = self._quotes(route, [amount], limit, exact_input=True)[0].amount_out
            hint = f"it gives {bought.text(output)} now, and {bought.text(bound)} were the least to take"
        elif reason == "Too much requested":
            taken = self._quotes(route, [amount], limit, exact_input=False)[0].amount_in
            hint = f"it takes {sold.text(taken)} now, and {sold.text(bound)} were the most to give"
        elif reason == "SPL":
            root = self.pool(*route.hops[0]).sqrt_price_x96
            side = "below" if route.token_in < route.token_out else "above"
            hint = f"the pool's square root price is {root} now: give a limit {side} it, or none"
        elif not exact_input and reason in {"Unexpected error", ""}:
            held = bought.balance_of(self.pool(*route.hops[-1]).address)
            hint = f"the pools cannot give so much; the last of them holds {bought.text(held)}"
        return explain(error, f"{what} of {said[0]} for {said[1]}", hint)

    def _pool_of(self, pool: object) -> UniswapV3Pool:
        if isinstance(pool, UniswapV3Pool):
            address_on(self.fork, pool)  # raises for a pool of another fork
            return pool
        if isinstance(pool, str | bytes):
            return UniswapV3Pool(self.fork, pool)
        if isinstance(pool, Sequence) and len(pool) == 3:
            return self.pool(*Route.of(self.fork, pool).hops[0])
        raise BadArgument(f"{pool!r} is not a pool", 'give one of `pools(…)`, or tokens and fee: ("WETH", "USDC", 500)')

    def _pool_address(self, token: bytes, other: bytes, fee: int) -> bytes | None:
        address: bytes = self.factory.getPool(token, other, fee)
        return None if address == ZERO_ADDRESS else address

    def _no_pool(self, token: bytes, other: bytes, fee: int) -> UnknownName:
        names = self.fork.name(token), self.fork.name(other)
        fees = [str(pool.fee) for pool in self.pools(token, other)]
        if fees:
            hint = f"there are pools of these two with fees of {', '.join(fees)} millionths"
        else:
            known = [label for label in self._labelled() if not set(names).isdisjoint(_symbols(label))]
            hint = f"pools of either: {', '.join(known)}" if known else "no pool of either has a name in `fork.labels`"
        return UnknownName(f"there is no pool of {names[0]} and {names[1]} with a fee of {fee} millionths", hint)

    def _fees(self) -> list[int]:
        return sorted({*_TIERS, *(int(label.rpartition(".")[2]) for label in self._labelled())})

    def _labelled(self) -> list[str]:
        return [label for label in self.fork.labels if label.startswith("UniswapV3.") and "/" in label]

    def __repr__(self) -> str:
        return f"<Uniswap V3 on {chain_name(self.fork)}: {len(self._labelled())} pools by name>"


def _has_code(fork: Fork, label: str) -> bool:
    try:
        return bool(fork.code(label))
    except MissingStateError:  # a recorded world may lack this state
        return True


def _symbols(label: str) -> list[str]:
    """Split a label such as `UniswapV3.WETH/USDC.e.500` into its two tokens."""
    return label.removeprefix("UniswapV3.").rpartition(".")[0].split("/")


def _moved(data: bytes) -> tuple[int, int]:
    """Amounts of both tokens in the data of a swap's event: what the pool took is positive."""
    return int.from_bytes(data[:32], signed=True), int.from_bytes(data[32:64], signed=True)


def _quote(amount: int, output: Any, route: Route, *, exact_input: bool) -> Quote:
    other, prices, crossed, gas = output
    if route.single:
        prices, crossed = (prices,), (crossed,)
    elif not exact_input:  # the contract walks the path backwards
        prices, crossed = prices[::-1], crossed[::-1]
    amount_in, amount_out = (amount, other) if exact_input else (other, amount)
    return Quote(amount_in, amount_out, tuple(prices), tuple(crossed), gas)
