"""QuoterV2 against executed swaps of one Uniswap V3 pool.

Each case runs on a snapshot of the fork: the quote first, then the same swap through the router. Amounts are taken from
the trader's balances, the price from the pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import ExecutionError, MayaviError, MissingStateError, StateError, UsageError
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.market import UniswapV3
from mayavi.protocols.uniswap.pool import UniswapV3Pool
from mayavi.protocols.uniswap.route import Route
from mayavi.protocols.uniswap.router import Router
from mayavi.validation.gate import Tally
from mayavi.validation.quoter.sizes import amounts_in, amounts_out
from mayavi.worlds.deploy.deployment import named_account

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

TRADER = named_account("validation.trader")
MOST_DEALT, MUCH_DEALT = 2**200, 10**27
"""Balance for a swap whose quote reverted, so that the swap cannot fail for lack of money; for tokens that cannot hold
so much, a smaller one."""
_FOREVER = 2**256 - 1
_GAS = 10**9
"""Enough to walk through every tick of an empty pool: the quoter needs more of it than the router."""
_LIMIT_SHIFT = 200
"""Divisor of the square root price: price limits are about 1 % away from the price of the pool."""


class SwapCase(NamedTuple):
    """One swap: its direction, its size and its price limit (0 for none)."""

    zero_for_one: bool
    exact_input: bool
    amount: int
    limit: int = 0


class SwapResult(NamedTuple):
    """What a quote promises or a swap does. `amount` is the side that the caller did not fix."""

    amount: int
    sqrt_price_x96: int


def uniswap_pools(fork: Fork) -> list[str]:
    """Return the labels of the Uniswap V3 pools that exist on `fork`."""
    return existing(fork, [label for label in fork.labels if label.startswith("UniswapV3.") and "/" in label])


def existing(fork: Fork, labels: Iterable[str]) -> list[str]:
    """Return those of `labels` that have code on `fork`; a snapshot may lack the account."""
    found = []
    for label in labels:
        with suppress(MissingStateError):
            if fork.code(label):
                found.append(label)
    return found


def deal(fork: Fork, token: bytes, amount: int) -> bool:
    """Give the trader exactly `amount`; False if the token cannot be dealt or cannot hold so much."""
    try:
        fork.deal(token, TRADER, amount)
    except MissingStateError:
        raise
    except (StateError, UsageError):
        return False
    return True


def compare_pool(fork: Fork, label: str, tally: Tally, *, where: str) -> None:
    """Compare quotes and swaps of one pool in both directions, exact input and exact output."""
    market, pool = UniswapV3(fork), UniswapV3Pool(fork, label)
    router = Router(fork).address
    with fork.snapshot():
        for token in (pool.token0, pool.token1):
            token.approve(router, _FOREVER, sender=TRADER)
        for case in swap_cases(pool):
            try:
                quoted = _quote(market, pool, case)
                with fork.snapshot():
                    if not _fund(fork, pool, case, quoted):
                        tally.skip(f"{where}, {label}: the trader cannot be given so much {_sold(pool, case).symbol}")
                        continue
                    executed = _execute(fork, pool, case, quoted)
            except MissingStateError:
                tally.skip(f"{where}, {label}: the snapshot lacks the state that the trade needs")
                continue
            tally.check(quoted == executed, _describe(where, label, pool, case, quoted, executed), part=where)


def swap_cases(pool: UniswapV3Pool) -> Iterator[SwapCase]:
    """Yield the swaps of a pool: sizes from one unit to beyond its liquidity, and some with a price limit."""
    root = pool.sqrt_price_x96
    for zero_for_one in (True, False):
        sold, bought = (pool.token0, pool.token1) if zero_for_one else (pool.token1, pool.token0)
        held_in, held_out = sold.balance_of(pool.address), bought.balance_of(pool.address)
        for amount in amounts_in(held_in):
            yield SwapCase(zero_for_one, True, amount)
        for amount in amounts_out(held_out):
            yield SwapCase(zero_for_one, False, amount)
        step = max(1, root // _LIMIT_SHIFT)
        ahead, behind = (root - step, root + step) if zero_for_one else (root + step, root - step)
        for limit in (ahead, behind):  # a limit behind the price reverts
            if 0 < limit < 2**160:
                yield SwapCase(zero_for_one, True, max(1, held_in), limit)
                yield SwapCase(zero_for_one, False, max(1, held_out // 2), limit)


def _route(pool: UniswapV3Pool, case: SwapCase) -> Route:
    pair = pool.token0.address, pool.token1.address
    return Route(pair if case.zero_for_one else pair[::-1], (pool.fee,))


def _quote(market: UniswapV3, pool: UniswapV3Pool, case: SwapCase) -> SwapResult | None:
    """Ask QuoterV2; None if it reverts."""
    route = _route(pool, case)
    ask = market.quoter["quoteExactInputSingle" if case.exact_input else "quoteExactOutputSingle"]
    try:
        amount, root, *_ = ask.call((*route.tokens, case.amount, pool.fee, case.limit), gas=_GAS)
    except ExecutionError:
        return None
    return SwapResult(amount, root)


def _execute(fork: Fork, pool: UniswapV3Pool, case: SwapCase, quoted: SwapResult | None) -> SwapResult | None:
    """Swap through the router and read balances and price; None if it reverts.

    An exact output is bought with exactly the quoted amount: a swap that needs one unit more fails.
    """
    sold, bought = (pool.token0, pool.token1) if case.zero_for_one else (pool.token1, pool.token0)
    before_in, before_out = sold.balance_of(TRADER), bought.balance_of(TRADER)
    try:
        Router(fork).swap(
            _route(pool, case),
            case.amount,
            0 if case.exact_input else _budget(case, quoted),
            exact_input=case.exact_input,
            sender=TRADER,
            recipient=TRADER,
            deadline=fork.timestamp,
            sqrt_price_limit_x96=case.limit,
            gas=_GAS,
        )
    except ExecutionError:
        return None
    paid, received = before_in - sold.balance_of(TRADER), bought.balance_of(TRADER) - before_out
    return SwapResult(received if case.exact_input else paid, pool.sqrt_price_x96)


def _sold(pool: UniswapV3Pool, case: SwapCase) -> Erc20:
    return pool.token0 if case.zero_for_one else pool.token1


def _fund(fork: Fork, pool: UniswapV3Pool, case: SwapCase, quoted: SwapResult | None) -> bool:
    token, budget = _sold(pool, case).address, _budget(case, quoted)
    return deal(fork, token, budget) or (budget == MOST_DEALT and deal(fork, token, MUCH_DEALT))


def _budget(case: SwapCase, quoted: SwapResult | None) -> int:
    """Return the trader's budget; practically unlimited for exact output whose quote reverted."""
    return case.amount if case.exact_input else MOST_DEALT if quoted is None else quoted.amount


def _describe(
    where: str,
    label: str,
    pool: UniswapV3Pool,
    case: SwapCase,
    quoted: SwapResult | None,
    executed: SwapResult | None,
) -> str:
    names = [_symbol(token) for token in (pool.token0, pool.token1)]
    sold, bought = names if case.zero_for_one else names[::-1]
    sold, bought = (f"{case.amount} units of {sold}", bought) if case.exact_input else (sold, f"{case.amount} {bought}")
    limit = f" with price limit {case.limit}" if case.limit else ""
    return (
        f"{where}, {label}, {sold} for {bought}{limit}: QuoterV2 says {_text(quoted)}, the swap gives {_text(executed)}"
    )


def _symbol(token: object) -> str:
    try:
        return str(getattr(token, "symbol", token))
    except MayaviError:
        return "?"


def _text(result: SwapResult | None) -> str:
    return "a revert" if result is None else f"{result.amount} units at square root price {result.sqrt_price_x96}"
