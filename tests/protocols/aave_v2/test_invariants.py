"""Invariants of an Aave V2 market: no token from nothing, and failures change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mayavi.errors import ExecutionError
from mayavi.protocols import PriceFeed
from tests.protocols.aave_v2.worlds import open_market
from tests.states import state_of

USERS = tuple(bytes([index]) * 20 for index in (0xA1, 0xB2))
WHOLE = {"USDC": 1_000 * 10**6, "CRV": 2_000 * 10**18}

users, assets, permille = st.integers(0, 1), st.sampled_from(tuple(WHOLE)), st.integers(0, 3_000)


class Market(RuleBasedStateMachine):
    """Two users. Amounts are drawn in thousandths of about a thousand dollars."""

    @initialize()
    def open(self) -> None:
        self.market = open_market()
        self.fork = self.market.fork
        self.accounts = [self.market.account(user) for user in USERS]
        for user in USERS:
            for asset, amount in WHOLE.items():
                self.fork.deal(asset, user, 20 * amount)
        self.total = {asset: self.in_existence(asset) for asset in WHOLE}

    def in_existence(self, asset: str) -> int:
        token, pool = self.market.token(asset), self.market.a_token(asset).address
        return sum(token.balance_of(holder) for holder in (*USERS, pool))

    def attempt(self, action: Callable[[], Any]) -> None:
        before = state_of(self.fork)
        try:
            action()
        except ExecutionError:
            assert state_of(self.fork) == before

    @rule(user=users, asset=assets, amount=permille)
    def supply(self, user: int, asset: str, amount: int) -> None:
        self.attempt(lambda: self.accounts[user].supply(asset, WHOLE[asset] * amount // 1_000 + 1))

    @rule(user=users, asset=assets, amount=permille)
    def borrow(self, user: int, asset: str, amount: int) -> None:
        self.attempt(lambda: self.accounts[user].borrow(asset, WHOLE[asset] * amount // 1_000 + 1))

    @rule(user=users, asset=assets, all_of_it=st.booleans())
    def repay(self, user: int, asset: str, all_of_it: bool) -> None:
        self.attempt(lambda: self.accounts[user].repay(asset, None if all_of_it else WHOLE[asset] // 7))

    @rule(user=users, asset=assets, all_of_it=st.booleans())
    def withdraw(self, user: int, asset: str, all_of_it: bool) -> None:
        self.attempt(lambda: self.accounts[user].withdraw(asset, None if all_of_it else WHOLE[asset] // 7))

    @rule(user=users)
    def liquidate(self, user: int) -> None:
        liquidator, borrower = self.accounts[user], self.accounts[1 - user]
        for collateral, debt in (("USDC", "CRV"), ("CRV", "USDC")):
            self.attempt(lambda c=collateral, d=debt: liquidator.liquidate(borrower, c, d))

    @rule(price=st.integers(10_000_000, 200_000_000))
    def move_price(self, price: int) -> None:
        source = self.market.oracle.getSourceOfAsset(self.market.address_of("CRV"))
        PriceFeed(self.fork, source).move(price)

    @rule(blocks=st.integers(1, 10_000))
    def pass_time(self, blocks: int) -> None:
        self.fork.mine(blocks)

    @invariant()
    def no_token_appears_or_disappears(self) -> None:
        assert {asset: self.in_existence(asset) for asset in WHOLE} == self.total

    @invariant()
    def what_is_supplied_is_there_or_lent_out(self) -> None:
        for asset in WHOLE:
            reserve = self.market.reserve(asset)
            assert reserve.supplied <= reserve.available + reserve.borrowed + 10


@pytest.mark.slow(20)
def test_a_market_keeps_its_books() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(Market, settings=settings(max_examples=15, stateful_step_count=20))
