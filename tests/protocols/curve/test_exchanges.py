"""Exchanges in a Curve pool: as quoted, within limits, with fees shared by halves."""

from __future__ import annotations

from itertools import permutations

import pytest

from mayavi.errors import (
    CallReverted,
    InsufficientBalance,
)
from mayavi.protocols import CurveStableSwap, Erc20
from tests.protocols.curve.worlds import ALICE, BOB, even, whole


def test_a_quote_is_what_an_exchange_gives(pool: CurveStableSwap) -> None:
    """Exact for coins with 18 decimals, else up to one unit less: the pool rounds a quote after its fee."""
    for i, j in permutations(range(len(pool.coins)), 2):
        for dx in [10**k for k in range(pool.coins[i].decimals - 4, pool.coins[i].decimals + 8)]:
            pool.fork.deal(pool.coins[i].address, ALICE, dx)
            with pool.fork.snapshot():
                quote = pool.quote(i, j, dx)
                received = pool.exchange(i, j, dx, sender=ALICE).received
                assert quote - received in ([0] if pool.coins[j].decimals == 18 else [0, 1]), (i, j, dx)


def test_a_batch_of_quotes_is_each_of_them(pool: CurveStableSwap) -> None:
    amounts = [whole(pool, 0, 1) * k for k in (1, 10, 10_000, 5_000_000)]
    assert pool.quote_many(0, 1, amounts) == [pool.quote(0, 1, dx) for dx in amounts]
    assert pool.quote_many(0, 1, []) == []


def test_a_limit_holds_to_the_unit_and_a_refusal_changes_nothing(pool: CurveStableSwap) -> None:
    dx = whole(pool, 0, 1_000)
    with pool.fork.snapshot():
        received = pool.exchange(0, 1, dx, sender=ALICE).received
    before = pool.fork.digest()
    with pytest.raises(CallReverted, match=f"^an exchange of 1,000 {pool.symbols[0]} for USDC on Curve") as refused:
        pool.exchange(0, 1, dx, received + 1, sender=ALICE)
    gives, asked = pool.coins[1].text(received), pool.coins[1].text(received + 1)
    assert refused.value.hint == f"it gives {gives} now, and {asked} were the least to take"
    assert pool.fork.digest() == before
    assert pool.exchange(0, 1, dx, received, sender=ALICE).received == received


def test_a_larger_trade_gets_a_worse_price(pool: CurveStableSwap) -> None:
    impacts = [pool.price_impact(0, 1, whole(pool, 0, size)) for size in (1, 10_000, 1_000_000, 8_000_000)]
    assert impacts[0] == 0
    assert impacts == sorted(impacts)
    assert impacts[-1] > impacts[1] > 0
    assert all(impact.as_tuple().exponent in (0, -18) for impact in impacts)


def test_there_and_back_again_loses(pool: CurveStableSwap) -> None:
    for i, j in permutations(range(len(pool.coins)), 2):
        dx = whole(pool, i, 10_000)
        there = pool.exchange(i, j, dx, sender=ALICE).received
        back = pool.exchange(j, i, there, sender=ALICE).received
        assert whole(pool, i, 9_990) < back < dx


def test_fees_are_shared_by_halves(pool: CurveStableSwap) -> None:
    before = pool.virtual_price_wad
    pool.exchange(0, 1, whole(pool, 0, 1_000_000), sender=ALICE)
    fee = whole(pool, 1, 100)
    assert pool.admin_balances[1] == pytest.approx(fee // 2, rel=1e-3)
    assert (pool.virtual_price_wad - before) * pool.lp_supply // 10**36 == pytest.approx(50, abs=1)


def test_what_an_account_lacks_is_said_before_anything_is_sent(pool: CurveStableSwap) -> None:
    before = pool.fork.digest()
    with pytest.raises(InsufficientBalance, match=f"has 0 {pool.symbols[0]}, but 5 {pool.symbols[0]}"):
        pool.exchange(0, 1, whole(pool, 0, 5), sender=BOB)
    with pytest.raises(InsufficientBalance):
        pool.add_liquidity(even(pool, 2_000_000), sender=ALICE)
    with pytest.raises(InsufficientBalance, match="LP"):
        pool.remove_liquidity(1, sender=BOB)
    with pytest.raises(InsufficientBalance, match="LP"):
        pool.remove_liquidity_one_coin(10**18, "USDC", sender=BOB)
    assert pool.fork.digest() == before


def test_approvals_are_exact_and_usdt_may_have_an_old_one(tripool: CurveStableSwap) -> None:
    usdt = Erc20(tripool.fork, "USDT")
    usdt.approve(tripool.address, 5, sender=ALICE)
    tripool.exchange("USDT", "DAI", 10**9, sender=ALICE)
    tripool.add_liquidity(even(tripool, 10), sender=ALICE)
    assert [coin.allowance(ALICE, tripool.address) for coin in tripool.coins] == [0, 0, 0]
