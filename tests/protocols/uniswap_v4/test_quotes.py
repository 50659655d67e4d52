"""A quote of V4Quoter is what the swap then does, to the unit: 20 pools, both ways, exact input and output."""

from __future__ import annotations

import pytest

from mayavi.errors import CallReverted
from mayavi.protocols import UniswapV4
from mayavi.protocols.uniswap_v4.currency import Currency
from tests.protocols.uniswap_v4.worlds import ALICE, POOLS, Made, open_world, pool_on

PARTS_PPB = (1, 1_000, 10**6, 10**7, 5 * 10**7, 2 * 10**8, 5 * 10**8, 9 * 10**8, 2 * 10**9, 10**12)
"""Sizes as parts of what the pool holds: from a billionth, across every range, to beyond the liquidity."""


@pytest.fixture(scope="module")
def uniswap() -> UniswapV4:
    return open_world()


def named(made: Made) -> str:
    return f"{made.currency}/{made.other} {made.fee}"


def trade(uniswap: UniswapV4, made: Made, *, backwards: bool, exact_input: bool) -> tuple[int, int, int]:
    """Compare quotes with swaps of all sizes; count those done, those refused, and the ticks that they crossed."""
    fork, pool = uniswap.fork, pool_on(uniswap, made)
    pair = (made.other, made.currency) if backwards else (made.currency, made.other)
    route = (*pair, made.fee)
    sold, bought = (Currency(fork, each) for each in pair)
    depth = max(1, _held(uniswap, made, sold if exact_input else bought))
    done = refused = crossed = 0
    for part in PARTS_PPB:
        amount = max(1, depth * part // 10**9)
        quote_of = uniswap.quote_exact_input if exact_input else uniswap.quote_exact_output
        swap = uniswap.swap_exact_input if exact_input else uniswap.swap_exact_output
        liquidity = pool.liquidity
        moment = fork.snapshot()
        try:
            quote = quote_of(route, amount)
        except CallReverted:
            with pytest.raises(CallReverted, match="reverted: "):
                swap(route, amount, sender=ALICE)
            refused += 1
            moment.revert()
            continue
        before = sold.balance_of(ALICE), bought.balance_of(ALICE)
        result = swap(route, amount, sender=ALICE)
        after = sold.balance_of(ALICE), bought.balance_of(ALICE)
        assert (result.amount_in, result.amount_out) == (quote.amount_in, quote.amount_out)
        assert (before[0] - after[0], after[1] - before[1]) == (quote.amount_in, quote.amount_out)
        done += 1
        crossed += pool.liquidity != liquidity
        moment.revert()
    return done, refused, crossed


def _held(uniswap: UniswapV4, made: Made, currency: Currency) -> int:
    """Amount of `currency` in the pool, worked out from the deposits of the world."""
    whole = float(made.deep) * (
        1 if currency.address == Currency(uniswap.fork, made.currency).address else float(made.price)
    )
    return int(3 * whole * 10**currency.decimals)


@pytest.mark.slow(0.5)
@pytest.mark.parametrize("made", POOLS, ids=named)
def test_a_quote_is_what_the_swap_does(uniswap: UniswapV4, made: Made) -> None:
    counts = [
        trade(uniswap, made, backwards=backwards, exact_input=exact_input)
        for backwards in (False, True)
        for exact_input in (True, False)
    ]
    done, refused, crossed = (sum(column) for column in zip(*counts, strict=True))
    assert done + refused == 4 * len(PARTS_PPB)
    assert done >= 20
    assert refused >= 4  # more than the pool holds, in every way
    assert crossed >= 2 or made.fee == (10_000, 32_767)  # ranges end inside the widest spacing


@pytest.mark.parametrize("amount_in", [10**12, 10**16, 3 * 10**18, 20 * 10**18])
def test_a_quote_over_several_pools_is_what_the_swap_does(uniswap: UniswapV4, amount_in: int) -> None:
    fork, route = uniswap.fork, ("LINK", 3000, "ETH", 500, "USDC", (8, 1), "USDT")
    with fork.snapshot():
        quote = uniswap.quote_exact_input(route, amount_in * 100)
        swap = uniswap.swap_exact_input(route, amount_in * 100, sender=ALICE)
        assert (swap.amount_in, swap.amount_out) == (quote.amount_in, quote.amount_out)
    with fork.snapshot():
        wanted = max(1, quote.amount_out // 3)
        quote = uniswap.quote_exact_output(route, wanted)
        swap = uniswap.swap_exact_output(route, wanted, sender=ALICE)
        assert (swap.amount_in, swap.amount_out) == (quote.amount_in, wanted)


def test_many_amounts_are_quoted_on_the_same_state(uniswap: UniswapV4) -> None:
    route, amounts = ("ETH", "USDC", 500), [10**15, 10**18, 5 * 10**18]
    together = uniswap.quote_exact_inputs(route, amounts)
    assert [each.amount_out for each in together] == [
        uniswap.quote_exact_input(route, amount).amount_out for amount in amounts
    ]
