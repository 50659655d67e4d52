"""Invariants of an Aave market: no value from nothing, shares add up, failures change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mayavi import Fork
from mayavi.errors import ExecutionError
from mayavi.protocols import AaveAccount, AaveV3, Erc20
from mayavi.protocols.aave.flash_loan import flash_borrower
from tests.protocols.aave.reference import health_factor_wad, move_price, ray_mul, scaled_balance, scaled_total
from tests.states import state_of

ASSETS = ("WETH", "USDC", "wstETH")
WHOLE = {"WETH": 10**18, "USDC": 2_500 * 10**6, "wstETH": 10**18}
"""Amounts of similar value."""
USERS = tuple(bytes([index]) * 20 for index in (0xA1, 0xB2, 0xC3))

users = st.integers(0, len(USERS) - 1)
assets = st.sampled_from(ASSETS)
permille = st.integers(0, 3_000) | st.sampled_from([1, 999, 1_000])


class Market(RuleBasedStateMachine):
    """Three users on the Ethereum replica. Amounts are drawn in thousandths of about one WETH."""

    world: Fork

    @initialize()
    def open(self) -> None:
        self.fork = self.world.copy()
        self.market = AaveV3(self.fork)
        self.accounts = [self.market.account(user) for user in USERS]
        self.start_price = self.market.price_usd_e8("WETH")
        self.steps = 0
        self.holders = [*USERS, *map(self.fork.address_of, ("Mayavi.Market", "AaveV3.Treasury"))]
        self.holders.append(flash_borrower(self.fork))
        self.tokens = {asset: self.in_existence(asset) for asset in ASSETS}
        for account, (supplied, borrowed) in zip(
            self.accounts, (("WETH", "USDC"), ("wstETH", "USDC"), ("USDC", "WETH")), strict=True
        ):
            self.give(account, supplied, WHOLE[supplied])
            account.supply(supplied, WHOLE[supplied])
            account.borrow(borrowed, WHOLE[borrowed] * 7 // 10)

    def in_existence(self, asset: str) -> int:
        """Return the sum of all holdings of a token, the pool included."""
        token = self.market.token(asset)
        return sum(token.balance_of(holder) for holder in [*self.holders, self.market.a_token(asset).address])

    def give(self, account: AaveAccount, asset: str, amount: int) -> None:
        before = account.balance(asset)
        self.fork.deal(asset, account.address, before + amount)
        self.tokens[asset] += amount

    def attempt(self, action: Callable[[], Any]) -> bool:
        """Act; a failure must leave the state unchanged to the last bit."""
        self.steps += 1
        before = state_of(self.fork)
        try:
            action()
        except ExecutionError:
            assert state_of(self.fork) == before
            return False
        return True

    @rule(user=users, asset=assets, amount=permille)
    def supply(self, user: int, asset: str, amount: int) -> None:
        account, units = self.accounts[user], WHOLE[asset] * amount // 1_000
        self.give(account, asset, units // 2)
        self.attempt(lambda: account.supply(asset, units))

    @rule(user=users, asset=assets, amount=permille)
    def deposit(self, user: int, asset: str, amount: int) -> None:
        account, units = self.accounts[user], WHOLE[asset] * (amount + 1) // 1_000
        self.give(account, asset, units)
        assert self.attempt(lambda: account.supply(asset, units))

    @rule(user=users, asset=assets, share=st.none() | st.integers(1, 1_200))
    def withdraw(self, user: int, asset: str, share: int | None) -> None:
        account = self.accounts[user]
        amount = None if share is None else account.supplied(asset) * share // 1_000
        self.attempt(lambda: account.withdraw(asset, amount))

    @rule(user=users, asset=assets, share=st.integers(1, 1_100))
    def borrow(self, user: int, asset: str, share: int) -> None:
        account, reserve = self.accounts[user], self.market.reserve(asset)
        allowed = account.data().available_usd_e8 * 10**reserve.decimals // reserve.price_usd_e8
        self.attempt(lambda: account.borrow(asset, allowed * share // 1_000))

    @rule(user=users, asset=assets, share=st.none() | st.integers(0, 1_200), funded=st.booleans())
    def repay(self, user: int, asset: str, share: int | None, funded: bool) -> None:
        account = self.accounts[user]
        owed = account.debt(asset)
        if funded:
            self.give(account, asset, max(0, owed - account.balance(asset)))
        done = self.attempt(lambda: account.repay(asset, None if share is None else owed * share // 1_000))
        if done and share is None:
            assert account.debt(asset) == 0

    @rule(user=users, asset=assets, use=st.booleans())
    def choose_collateral(self, user: int, asset: str, use: bool) -> None:
        self.attempt(lambda: self.accounts[user].set_collateral(asset, use))

    @rule(user=users, category=st.sampled_from([0, 1]))
    def choose_emode(self, user: int, category: int) -> None:
        self.attempt(lambda: self.accounts[user].set_emode(category))

    @rule(pair=st.permutations(range(3)), pick=st.integers(0, 8), a_token=st.booleans(), some=permille)
    def liquidate(self, pair: list[int], pick: int, a_token: bool, some: int) -> None:
        """Mostly of what the borrower has and owes, so that it can succeed once the borrower is unhealthy."""
        liquidator, borrower = self.accounts[pair[0]], self.accounts[pair[1]]
        held = [asset for asset in ASSETS if borrower.supplied(asset)] or ASSETS
        owed = [asset for asset in ASSETS if borrower.debt(asset)] or ASSETS
        collateral, debt = held[pick % len(held)], owed[pick // 3 % len(owed)]
        self.give(liquidator, debt, borrower.debt(debt) * some // 1_000)
        health = borrower.data().health_factor_wad
        done = self.attempt(lambda: liquidator.liquidate(borrower, collateral, debt, receive_a_token=a_token))
        assert not done or health < 10**18

    @rule(asset=assets, amount=permille, funded=st.booleans())
    def flash(self, asset: str, amount: int, funded: bool) -> None:
        account, units = self.accounts[0], WHOLE[asset] * amount // 1_000
        self.give(account, asset, units if funded else 0)
        self.attempt(lambda: account.flash_loan(asset, units))

    @rule(percent=st.sampled_from([30, 70, 85, 92, 100, 115, 140]))
    def move_the_price_of_ether(self, percent: int) -> None:
        move_price(self.market, "WETH", self.start_price * percent // 100)

    @rule(seconds=st.integers(1, 90 * 86_400))
    def wait(self, seconds: int) -> None:
        self.fork.mine(1, seconds)

    @rule()
    def pay_the_treasury(self) -> None:
        pool = self.fork.contract("AaveV3.Pool", ["mintToTreasury(address[])"])
        pool.mintToTreasury([self.market.address_of(asset) for asset in ASSETS])

    @invariant()
    def shares_add_up(self) -> None:
        for asset in ASSETS:
            reserve = self.market.reserve(asset)
            for token in (reserve.a_token, reserve.variable_debt_token):
                shares = sum(scaled_balance(self.fork, token, holder) for holder in self.holders)
                assert shares == scaled_total(self.fork, token), Erc20(self.fork, token)

    @invariant()
    def no_value_comes_from_nothing(self) -> None:
        """Total claims minus debts never exceed the tokens that exist.

        Aave rounds half up, so each action may gain or lose a unit or two; suppliers earn simple interest on what
        borrowers owe with compound interest, so time only adds to the pool's side.
        """
        for asset in ASSETS:
            assert self.in_existence(asset) == self.tokens[asset]
            reserve, token = self.market.reserve(asset), self.market.token(asset)
            treasury = ray_mul(reserve.accrued_to_treasury_scaled, reserve.normalised_income_ray)
            outside = self.tokens[asset] - token.balance_of(reserve.a_token)
            assert outside + reserve.supplied + treasury - reserve.borrowed <= self.tokens[asset] + 2 * self.steps + 2

    @invariant()
    def health_is_what_it_should_be(self) -> None:
        account = self.accounts[self.steps % len(USERS)]
        assert account.data().health_factor_wad == health_factor_wad(account)


@pytest.mark.slow
def test_no_course_of_events_breaks_a_market(monkeypatch: pytest.MonkeyPatch) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    monkeypatch.setattr(Market, "world", Fork.replica("ethereum"), raising=False)
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Market, settings=settings(max_examples=60, stateful_step_count=30)
    )
