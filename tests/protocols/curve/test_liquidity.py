"""Deposits and withdrawals of a Curve pool, in all coins and in one."""

from __future__ import annotations

import pytest

from mayavi.errors import (
    CallReverted,
    InsufficientBalance,
)
from mayavi.protocols import CurveStableSwap
from tests.protocols.curve.worlds import ALICE, BOB, even, whole


def test_a_deposit_gives_shares_and_a_withdrawal_takes_them(pool: CurveStableSwap) -> None:
    amounts = even(pool, 100_000)
    held = [coin.balance_of(ALICE) for coin in pool.coins]
    quote = pool.quote_add(amounts)
    minted = pool.add_liquidity(amounts, sender=ALICE).minted
    assert minted == pool.lp_token.balance_of(ALICE)
    assert quote * 9_999 // 10_000 < minted <= quote
    removed = pool.remove_liquidity(minted, sender=ALICE)
    assert removed.burned == minted
    assert pool.lp_token.balance_of(ALICE) == 0
    after = [coin.balance_of(ALICE) for coin in pool.coins]
    assert removed.received == tuple(b - (a - d) for a, b, d in zip(held, after, amounts, strict=True))
    assert 0 < value(pool, amounts) - value(pool, removed.received) < value(pool, amounts) // 1_000


def value(pool: CurveStableSwap, amounts: tuple[int, ...] | list[int]) -> int:
    """Value at par, with 18 decimals."""
    return sum(amount * 10 ** (18 - coin.decimals) for amount, coin in zip(amounts, pool.coins, strict=True))


def test_a_lopsided_deposit_pays_a_fee_that_its_quote_ignores(pool: CurveStableSwap) -> None:
    quote = pool.quote_add({"USDC": 10**11})
    assert pool.add_liquidity({"USDC": 10**11}, sender=ALICE).minted < quote


@pytest.mark.parametrize("part", [1, 3, 100])
def test_one_coin_alone_comes_as_quoted(pool: CurveStableSwap, part: int) -> None:
    shares = pool.add_liquidity(even(pool, 10_000), sender=ALICE).minted // part
    for i in range(len(pool.coins)):
        with pool.fork.snapshot():
            quote = pool.quote_remove_one(shares, i)
            removed = pool.remove_liquidity_one_coin(shares, i, quote, sender=ALICE)
            assert removed.received == tuple(quote if k == i else 0 for k in range(len(pool.coins)))
            assert removed.burned == shares
        with pytest.raises(CallReverted) as refused:
            pool.remove_liquidity_one_coin(shares, i, quote + 1, sender=ALICE)
        assert str(refused.value.hint).startswith(f"it gives {pool.coins[i].text(quote)} now")


def test_exact_amounts_cost_at_least_what_is_quoted(pool: CurveStableSwap) -> None:
    pool.add_liquidity(even(pool, 10_000), sender=ALICE)
    wanted = [whole(pool, i, 1_000 if i else 0) for i in range(len(pool.coins))]
    quote = pool.quote_remove(wanted)
    with pool.fork.snapshot():
        removed = pool.remove_liquidity_imbalance(wanted, sender=ALICE)
    assert removed.received == tuple(wanted)
    assert quote < removed.burned < quote * 1_001 // 1_000
    with pytest.raises(CallReverted) as refused:
        pool.remove_liquidity_imbalance(wanted, removed.burned - 1, sender=ALICE)
    costs, most = pool.lp_token.text(removed.burned), pool.lp_token.text(removed.burned - 1)
    assert refused.value.hint == f"it costs {costs} now, and {most} were the most to burn"
    with pytest.raises(InsufficientBalance, match=r"has 0 Curve.*LP, but"):
        pool.remove_liquidity_imbalance(wanted, sender=BOB)
    with pytest.raises(InsufficientBalance, match=f"{pool.name} has .*, but .* are wanted"):
        pool.remove_liquidity_imbalance({"USDC": 10**15}, sender=ALICE)
    pool.remove_liquidity_imbalance(wanted, removed.burned, sender=ALICE)


def test_balanced_withdrawal_keeps_to_its_limits(pool: CurveStableSwap) -> None:
    shares = pool.add_liquidity(even(pool, 10_000), sender=ALICE).minted
    with pool.fork.snapshot():
        received = pool.remove_liquidity(shares, sender=ALICE).received
    with pytest.raises(CallReverted) as refused:
        pool.remove_liquidity(shares, {"USDC": received[pool.index("USDC")] + 1}, sender=ALICE)
    assert str(refused.value.hint).startswith(f"it gives {pool.coins[0].text(received[0])}, ")
    with pytest.raises(CallReverted) as refused:
        pool.add_liquidity(even(pool, 1), 10**24, sender=ALICE)
    assert "were the least to take" in str(refused.value.hint)
    assert pool.remove_liquidity(shares, received, sender=ALICE).received == received
