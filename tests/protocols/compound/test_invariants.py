"""Invariants of a Compound market under random users, prices and time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from mayavi import Fork
from mayavi.errors import ExecutionError
from mayavi.protocols import CompoundV3, CompoundV3Account, Erc20
from mayavi.worlds.deploy.compound import BORROWER
from mayavi.worlds.deploy.deployment import MARKET
from tests.protocols.compound.worlds import mainnet_world, replica, set_price
from tests.states import state_of

USERS = [bytes([number]) * 20 for number in (0xA1, 0xB2, 0xC3)]
COLLATERALS = ["WETH", "WBTC", "COMP"]

users = st.sampled_from(USERS)
collaterals = st.sampled_from(COLLATERALS)
shares = st.integers(0, 120)
"""Percent of the possible amount, sometimes too much."""


class CompoundMachine(RuleBasedStateMachine):
    """Random users of cUSDCv3. Subclasses choose the world."""

    world: Callable[[], Fork]

    @initialize()
    def open(self) -> None:
        self.market = CompoundV3(type(self).world().copy())
        self.fork = self.market.fork
        self.assets = {symbol: self.market.asset(symbol) for symbol in COLLATERALS}
        for user in USERS:
            self.fork.deal("USDC", user, 50_000 * 10**6)
            for symbol, asset in self.assets.items():
                price = self.market.price_e8(symbol)
                self.fork.deal(symbol, user, 30_000 * 10**8 * 10**asset.decimals // price)
        self.tokens = [self.market.base, *(Erc20(self.fork, symbol) for symbol in COLLATERALS)]
        self.wealth = self.held()
        self.actions = 0
        self.prices = {symbol: self.market.price_e8(symbol) for symbol in COLLATERALS}
        for user, symbol in zip(USERS[:2], COLLATERALS, strict=False):  # so that falling prices have whom to hurt
            self.put_up(user, symbol, 50)
            self.borrow(user, 90)

    def account(self, user: bytes) -> CompoundV3Account:
        return self.market.account(user)

    def held(self) -> list[int]:
        holders = [*USERS, MARKET, BORROWER, self.market.address]
        return [sum(token.balance_of(holder) for holder in holders) for token in self.tokens]

    def attempt(self, act: Callable[[], object]) -> bool:
        """Whether the action succeeded; a failure must change nothing."""
        before = state_of(self.fork)
        try:
            act()
        except ExecutionError:
            assert state_of(self.fork) == before
            return False
        self.actions += 1
        return True

    # -- what may happen ----------------------------------------------------------------------------------------------

    @rule(user=users, symbol=collaterals, share=shares)
    def put_up(self, user: bytes, symbol: str, share: int) -> None:
        amount = Erc20(self.fork, symbol).balance_of(user) * share // 100
        self.attempt(lambda: self.account(user).supply(symbol, amount))

    @rule(user=users, share=shares)
    def lend_or_repay(self, user: bytes, share: int) -> None:
        amount = self.market.base.balance_of(user) * share // 100
        self.attempt(lambda: self.account(user).supply("USDC", amount))

    @rule(user=users, share=shares)
    def borrow(self, user: bytes, share: int) -> None:
        amount = self.account(user).data().borrow_limit_e8 // 100 * share // 100
        self.attempt(lambda: self.account(user).borrow(amount))

    @rule(user=users, share=st.none() | shares)
    def repay(self, user: bytes, share: int | None) -> None:
        account = self.account(user)
        amount = None if share is None else account.debt * share // 100
        if self.attempt(lambda: account.repay(amount)) and amount is None:
            assert account.debt == 0

    @rule(user=users, symbol=collaterals, share=shares)
    def take_back(self, user: bytes, symbol: str, share: int) -> None:
        account = self.account(user)
        amount = account.collateral(symbol) * share // 100
        if self.attempt(lambda: account.withdraw(symbol, amount)):
            # Comet lets collateral go by the debt as of the last accrual, which `account` is ahead of
            assert self.market.contract.isBorrowCollateralized(user)

    @rule(user=users)
    def end_loan(self, user: bytes) -> None:
        account = self.account(user)
        if account.base_balance:
            assert self.attempt(lambda: account.withdraw("USDC"))
            assert (account.base_balance, account.debt) == (0, 0)

    @rule(symbol=collaterals, percent=st.integers(40, 160))
    def move_price(self, symbol: str, percent: int) -> None:
        set_price(self.market, symbol, self.prices[symbol] * percent // 100)

    @rule(symbol=collaterals, percent=st.integers(40, 90), absorber=users)
    def crash(self, symbol: str, percent: int, absorber: bytes) -> None:
        """Lower a price and absorb all liquidatable accounts."""
        self.move_price(symbol, percent)
        under = [user for user in USERS if self.account(user).liquidatable]
        assert self.attempt(lambda: self.market.absorb(under, sender=absorber)) is bool(under)
        self.actions += len(under)
        assert not any(self.account(user).debt for user in under)

    @rule(seconds=st.integers(1, 100 * 86_400))
    def wait(self, seconds: int) -> None:
        self.fork.mine(seconds=seconds)

    @rule(absorber=users, user=users)
    def absorb(self, absorber: bytes, user: bytes) -> None:
        account = self.account(user)
        liquidatable = account.liquidatable
        assert self.attempt(lambda: self.market.absorb(user, sender=absorber)) is liquidatable
        if liquidatable:
            assert (account.debt, account.collaterals()) == (0, {})

    @rule(user=users, symbol=collaterals, share=shares)
    def buy(self, user: bytes, symbol: str, share: int) -> None:
        for_sale = self.market.asset(symbol).value_e8(
            self.market.collateral_reserves(symbol), self.market.price_e8(symbol)
        )
        pay = for_sale // 100 * share // 100
        quote, before = self.market.quote_collateral(symbol, pay), Erc20(self.fork, symbol).balance_of(user)
        if self.attempt(lambda: self.market.buy_collateral(symbol, pay, quote, sender=user)):
            assert Erc20(self.fork, symbol).balance_of(user) == before + quote

    # -- what must hold -----------------------------------------------------------------------------------------------

    @invariant()
    def no_token_comes_from_nothing(self) -> None:
        assert self.held() == self.wealth

    @invariant()
    def principals_sum_to_the_totals(self) -> None:
        """Up to one unit per action: tiny actions cost an account its rounding, and the totals nothing."""
        principals = [self.market.contract.userBasic(user).principal for user in (*USERS, MARKET, BORROWER)]
        totals = self.market.totals()
        assert 0 <= totals.supply_principal - sum(each for each in principals if each > 0) <= self.actions
        assert 0 <= totals.borrow_principal + sum(each for each in principals if each < 0) <= self.actions

    @invariant()
    def collateral_sums_to_the_totals_and_is_all_there(self) -> None:
        for symbol, asset in self.assets.items():
            total = self.market.asset(symbol).supplied
            held = [self.market.contract.userCollateral(user, asset.address).balance for user in (*USERS, BORROWER)]
            assert total == sum(held)
            stock = Erc20(self.fork, symbol).balance_of(self.market.address)
            assert stock == total + self.market.collateral_reserves(symbol)

    @invariant()
    def reserves_are_cash_and_debts_less_loans(self) -> None:
        totals = self.market.totals()
        assert (
            self.market.reserves == self.market.base.balance_of(self.market.address) + totals.borrowed - totals.supplied
        )

    @invariant()
    def a_batch_agrees_with_the_contract(self) -> None:
        arrays = self.market.account_data(USERS)
        with self.fork.snapshot():
            self.account(USERS[0]).accrue()
            liquidatable = [self.market.contract.isLiquidatable(user) for user in USERS]
            collateralized = [self.market.contract.isBorrowCollateralized(user) for user in USERS]
        assert arrays.liquidatable.tolist() == liquidatable
        assert arrays.borrow_collateralized.tolist() == collateralized


_SETTINGS = settings(
    max_examples=5, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@pytest.mark.slow(0.4)
def test_on_the_replica() -> None:
    class OnReplica(CompoundMachine):
        world = staticmethod(lambda: replica("ethereum"))

    run_state_machine_as_test(OnReplica, settings=_SETTINGS)


def test_on_the_real_bytecode(cases: Path) -> None:
    class OnMainnetBytecode(CompoundMachine):
        world = staticmethod(lambda: mainnet_world(cases))

    run_state_machine_as_test(OnMainnetBytecode, settings=_SETTINGS)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["replica", "real bytecode"])
def test_for_longer(where: str, request: pytest.FixtureRequest) -> None:
    class ForLonger(CompoundMachine):
        world = staticmethod(
            lambda: replica("ethereum") if where == "replica" else mainnet_world(request.getfixturevalue("cases"))
        )

    run_state_machine_as_test(ForLonger, settings=settings(_SETTINGS, max_examples=30, stateful_step_count=40))
