"""Invariants of a Curve pool: no value from nothing, and failures change nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mayavi.errors import ExecutionError
from mayavi.protocols import CurveStableSwap
from tests.protocols.curve.worlds import ALICE, WORLDS, open_pool
from tests.states import state_of

BOB = bytes.fromhex("b0b0000000000000000000000000000000000002")
USERS = st.sampled_from([ALICE, BOB])
COIN = st.integers(0, 2)
SHARE = st.integers(0, 10_000)
"""Ten-thousandths of a balance, sometimes a little more than all of it."""

ROUNDING_WAD = 1
"""Tolerated fall of the virtual price per operation: D is accurate to two units, then divided by the supply."""


class PoolMachine(RuleBasedStateMachine):
    """Two users trade, deposit and withdraw; time passes and the owner collects fees."""

    open: ClassVar[Callable[[], CurveStableSwap]]

    @initialize()
    def begin(self) -> None:
        self.pool = type(self).open()
        for coin in self.pool.coins:
            self.pool.fork.deal(coin.address, BOB, 10 ** (7 + coin.decimals))
        self.virtual_price_wad = self.pool.virtual_price_wad

    def attempt(self, act: Callable[[], object]) -> None:
        before = state_of(self.pool.fork)
        try:
            act()
        except ExecutionError:
            assert state_of(self.pool.fork) == before

    def part(self, held: int, share: int) -> int:
        return held * (share + share // 9_990) // 10_000

    @rule(user=USERS, i=COIN, j=COIN, share=SHARE)
    def exchange(self, user: bytes, i: int, j: int, share: int) -> None:
        n = len(self.pool.coins)
        i, j = i % n, j % n
        if i != j:
            dx = self.part(self.pool.coins[i].balance_of(user), share)
            self.attempt(lambda: self.pool.exchange(i, j, dx, sender=user))

    @rule(user=USERS, shares=st.tuples(SHARE, SHARE, SHARE))
    def add(self, user: bytes, shares: tuple[int, ...]) -> None:
        amounts = [
            self.part(coin.balance_of(user), share) for coin, share in zip(self.pool.coins, shares, strict=False)
        ]
        self.attempt(lambda: self.pool.add_liquidity(amounts, sender=user))

    @rule(user=USERS, share=SHARE)
    def remove(self, user: bytes, share: int) -> None:
        shares = self.part(self.pool.lp_token.balance_of(user), share)
        self.attempt(lambda: self.pool.remove_liquidity(shares, sender=user))

    @rule(user=USERS, coin=COIN, share=SHARE)
    def remove_one(self, user: bytes, coin: int, share: int) -> None:
        shares = self.part(self.pool.lp_token.balance_of(user), share)
        self.attempt(lambda: self.pool.remove_liquidity_one_coin(shares, coin % len(self.pool.coins), sender=user))

    @rule(user=USERS, shares=st.tuples(SHARE, SHARE, SHARE))
    def remove_exactly(self, user: bytes, shares: tuple[int, ...]) -> None:
        lp, supply = self.pool.lp_token.balance_of(user), self.pool.lp_supply
        amounts = [
            self.part(balance * lp // supply, share) for balance, share in zip(self.pool.balances, shares, strict=False)
        ]
        self.attempt(lambda: self.pool.remove_liquidity_imbalance(amounts, sender=user))

    @rule(seconds=st.integers(1, 10**6))
    def wait(self, seconds: int) -> None:
        self.pool.fork.mine(1, seconds=seconds)

    @precondition(lambda self: any(self.pool.admin_balances))
    @rule()
    def collect(self) -> None:
        collected = self.pool.fork.contract(self.pool.address, ["withdraw_admin_fees()"])
        collected.withdraw_admin_fees(sender=self.pool.owner)
        assert not any(self.pool.admin_balances)

    @invariant()
    def a_share_never_loses_value(self) -> None:
        now = self.pool.virtual_price_wad
        assert now >= self.virtual_price_wad - ROUNDING_WAD
        self.virtual_price_wad = now

    @invariant()
    def every_token_is_accounted_for(self) -> None:
        held = tuple(coin.balance_of(self.pool.address) for coin in self.pool.coins)
        booked = zip(self.pool.balances, self.pool.admin_balances, strict=True)
        assert held == tuple(balance + fees for balance, fees in booked)

    @invariant()
    def shares_add_up(self) -> None:
        holders = (ALICE, BOB, "Mayavi.Market")
        assert sum(map(self.pool.lp_token.balance_of, holders)) == self.pool.lp_supply


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_no_sequence_of_operations_makes_value_from_nothing(world: str, request: pytest.FixtureRequest) -> None:
    cases: Path | None = request.getfixturevalue("cases") if world.startswith("mainnet") else None
    machine = type("Machine", (PoolMachine,), {"open": staticmethod(lambda: open_pool(world, cases))})
    run_state_machine_as_test(machine, settings=settings(max_examples=25, stateful_step_count=25))
