"""Sizes of trades, from one unit to beyond what a pool holds."""

from __future__ import annotations

_LARGE = 10**30


def amounts_in(held: int) -> list[int]:
    """Return amounts to sell to a pool that holds `held` of the token: powers of ten, its balance, and far more."""
    return _sizes(held, [held, 10 * held, _LARGE])


def amounts_out(held: int) -> list[int]:
    """Return amounts to buy from a pool that holds `held` of the token: up to all of it, one more, and far more."""
    return _sizes(held, [held // 2, held, held + 1, _LARGE])


def _sizes(held: int, more: list[int]) -> list[int]:
    powers = [10**exponent for exponent in range(len(str(held)))]
    return sorted({amount for amount in (1, 2, 3, *powers, *more) if amount > 0})
