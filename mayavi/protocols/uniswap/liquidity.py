"""Add liquidity to a Uniswap V3 pool with approvals of the exact amounts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import ActionRefused, BadArgument, CallReverted
from mayavi.evm.abi.interface import Function
from mayavi.evm.arguments import word
from mayavi.protocols.revert_context import reason_text
from mayavi.protocols.tokens import spending
from mayavi.protocols.uniswap.pool import UniswapV3Pool
from mayavi.protocols.uniswap.reverts import explain

if TYPE_CHECKING:
    from mayavi.evm.abi.contract import BoundFunction
    from mayavi.evm.receipt import CallFrame, Receipt

Amounts = Mapping[str | bytes, int] | Sequence[int]
"""Amounts by token, missing ones being zero: `{"WETH": 10**18, "USDC": 2_500 * 10**6}`; or a pair of token0 and token1.
"""

_PAYMENT = Function.parse("uniswapV3MintCallback(uint256 amount0Owed, uint256 amount1Owed, bytes data)")


class Pair(NamedTuple):
    """Amounts of a pool's two tokens."""

    amount0: int
    amount1: int


def pay(
    pool: UniswapV3Pool,
    ticks: tuple[int, int],
    action: BoundFunction,
    params: tuple[object, ...],
    most: Pair,
    least: Pair,
    payer: bytes,
) -> Receipt:
    """Send `action` with approvals of the exact amounts used, because a range rarely uses both amounts up."""
    fork, manager = pool.fork, action.contract.address
    owed = _owed(fork.trace(manager, action.encode(params), payer), pool)
    if not any(owed) and (refusal := _no_liquidity(pool, ticks, most)):
        raise refusal
    with (
        spending(fork, pool.token0.address, manager, owed.amount0, payer),
        spending(fork, pool.token1.address, manager, owed.amount1, payer),
    ):
        try:
            receipt: Receipt = action(params, sender=payer)
        except CallReverted as error:
            hint = None
            if not any(owed) and not reason_text(error):
                few = max(most) < 2**128
                hint = "so little adds no liquidity; give more" if few else "no pool can count so much; give less"
            if reason_text(error) == "Price slippage check":
                hint = f"it takes {text(pool, owed)} now, and {text(pool, least)} were the least to give"
            raise explain(error, f"adding {text(pool, most)} to {pool!r}", hint) from None
    return receipt


def _owed(frame: CallFrame, pool: UniswapV3Pool) -> Pair:
    """Return the payment that the pool asked of the manager; zero if the call did not get that far."""
    for each in frame.walk():
        if each.sender == pool.address and each.input[:4] == _PAYMENT.selector:
            return Pair(*_PAYMENT.decode_input(each.input)[:2])
    return Pair(0, 0)


def amounts_of(pool: UniswapV3Pool, amounts: object) -> Pair:
    """Return amounts of token0 and token1; raise `UnknownName` for any other token."""
    if isinstance(amounts, Mapping):
        of = {pool.token0.address: 0, pool.token1.address: 0}
        for token, amount in amounts.items():
            traded = pool.other(token).address  # raises for a token that is not the pool's
            own = pool.token0 if traded == pool.token1.address else pool.token1
            of[own.address] = word(amount)
        return Pair(of[pool.token0.address], of[pool.token1.address])
    if amounts is None:
        return Pair(0, 0)
    symbols = pool.token0.symbol, pool.token1.symbol
    pair = [] if isinstance(amounts, str | bytes) or not isinstance(amounts, Iterable) else list(amounts)
    if len(pair) != len(symbols):
        raise BadArgument(
            f"{amounts!r} are not amounts of {symbols[0]} and {symbols[1]}",
            f'name them, {{"{symbols[0]}": …, "{symbols[1]}": …}}, or give two in this order',
        )
    return Pair(*(word(amount) for amount in pair))


def require_some(amounts: Pair) -> None:
    """Raise `ActionRefused` where both amounts are zero."""
    if not any(amounts):
        raise ActionRefused("a position of nothing adds no liquidity", "give an amount above zero")


def _no_liquidity(pool: UniswapV3Pool, ticks: tuple[int, int], most: Pair) -> ActionRefused | None:
    """Return the refusal for amounts that add no liquidity, because the range needs a token not offered."""
    tick, (lower, upper) = pool.tick, ticks
    where = f"the range from tick {lower} to {upper}"
    if lower <= tick < upper and not all(most):
        missing = pool.token1 if most.amount0 else pool.token0
        return ActionRefused(
            f"{where} holds the pool's tick {tick}: this range needs both tokens",
            f"give an amount of {missing.symbol} too, or a range on one side of the price",
        )
    side, token = ("above", pool.token0) if tick < lower else ("below", pool.token1)
    if lower <= tick < upper or (most.amount0 if tick < lower else most.amount1):
        return None
    return ActionRefused(
        f"{where} lies {side} the pool's tick {tick}: it takes {token.symbol} alone",
        f"give an amount of {token.symbol}, or a range on the other side of the price",
    )


def text(pool: UniswapV3Pool, amounts: Pair) -> str:
    """Format both amounts with their symbols."""
    return f"{pool.token0.text(amounts.amount0)} and {pool.token1.text(amounts.amount1)}"
