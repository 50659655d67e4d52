"""The parameter A of a Curve pool: moved slowly, stopped, and what it does to prices."""

from __future__ import annotations

import pytest

from mayavi.errors import (
    CallReverted,
)
from mayavi.protocols import CurveStableSwap
from tests.protocols.curve.worlds import ALICE, DAY, whole


def test_a_moves_in_a_straight_line(pool: CurveStableSwap) -> None:
    start, now = pool.a, pool.fork.timestamp
    pool.ramp_a(start * 2, now + 4 * DAY)
    assert pool.ramp == (start, start * 2, now, now + 4 * DAY)
    for quarter in range(1, 5):
        pool.fork.mine(7_200, seconds=DAY)
        assert pool.a == start + start * quarter // 4
    pool.fork.mine(7_200)
    assert pool.a == start * 2


def test_a_ramp_can_be_stopped(pool: CurveStableSwap) -> None:
    start = pool.a
    pool.ramp_a(start // 2, pool.fork.timestamp + 2 * DAY)
    pool.fork.mine(7_200)
    pool.stop_ramp_a()
    pool.fork.mine(7_200 * 10)
    assert pool.a == start - start // 4


def test_a_higher_a_flattens_the_price(pool: CurveStableSwap) -> None:
    dx = whole(pool, 0, 5_000_000)
    before = pool.quote(0, 1, dx)
    pool.ramp_a(pool.a * 5, pool.fork.timestamp + DAY)
    pool.fork.mine(7_200)
    assert pool.quote(0, 1, dx) > before


def test_only_the_owner_moves_a_and_only_slowly(pool: CurveStableSwap) -> None:
    end = pool.fork.timestamp + 2 * DAY
    before = pool.fork.digest()
    allowed = f"A is {pool.a} now and may go to {pool.a // 10} … {pool.a * 10}"
    owner = pool.fork.name(pool.owner)
    for future_a, time, sender, hint in [
        (pool.a * 2, end, ALICE, f"only the owner, {owner}, may"),
        (pool.a * 11, end, None, allowed),
        (pool.a // 11, end, None, allowed),
        (pool.a * 2, end - DAY - 1, None, f"it takes a day at least: give a time from {end - DAY} on"),
    ]:
        with pytest.raises(CallReverted, match=f"^ramp_A of {pool.name} reverted") as refused:
            pool.ramp_a(future_a, time, sender=sender)
        assert refused.value.hint == hint
    with pytest.raises(CallReverted) as refused:
        pool.stop_ramp_a(sender=ALICE)
    assert refused.value.hint == f"only the owner, {owner}, may"
    assert pool.fork.digest() == before
    pool.ramp_a(pool.a * 2, end)
    with pytest.raises(CallReverted) as refused:
        pool.ramp_a(pool.a * 3, end + DAY)
    assert "the last ramp began less than a day ago" in str(refused.value.hint)
