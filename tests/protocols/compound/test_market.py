"""Compound V3 adapter on every market of every replica, and on mainnet's bytecode: acting."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mayavi.protocols import CompoundV3, CompoundV3Account
from mayavi.protocols.compound.market import YEAR_SECONDS
from tests.protocols.compound.positions import ALICE, borrow_share, indebted, put_up, worth


def test_borrow_time_repay_all_and_withdraw_all_leave_nothing_behind(
    market: CompoundV3, alice: CompoundV3Account
) -> None:
    symbol = market.assets[-1].symbol
    amount = put_up(alice, symbol)
    borrowed = borrow_share(alice, 80)
    assert (alice.debt, alice.collaterals()) == (borrowed, {symbol: amount})
    assert market.base.balance_of(ALICE) == borrowed
    market.fork.mine(seconds=30 * 86_400)
    assert alice.debt > borrowed
    market.fork.deal(market.base.address, ALICE, 2 * borrowed)
    owed = alice.debt
    alice.repay()
    assert (alice.debt, alice.base_balance) == (0, 0)
    assert market.base.balance_of(ALICE) == 2 * borrowed - owed
    alice.withdraw(symbol)
    assert alice.collaterals() == {}
    assert market.fork.contract(symbol, ["balanceOf(address)(uint256)"]).balanceOf.call(ALICE) == amount
    basic = market.contract.userBasic(ALICE)
    assert (basic.principal, basic.assetsIn) == (0, 0)


def test_lending_earns_interest_that_can_be_withdrawn(market: CompoundV3, alice: CompoundV3Account) -> None:
    lent = 1_000 * 10**market.base.decimals
    market.fork.deal(market.base.address, ALICE, lent)
    alice.supply(market.base.symbol, lent)
    assert alice.base_balance == pytest.approx(lent, abs=1)
    market.fork.mine(seconds=YEAR_SECONDS)
    earned = Decimal(alice.base_balance - lent) / lent
    assert earned == pytest.approx(market.rates().supply_rate, rel=Decimal("0.01"))
    alice.withdraw(market.base.symbol)
    assert alice.base_balance == 0
    assert market.base.balance_of(ALICE) > lent


def test_base_tokens_repay_the_debt_first_and_lend_the_rest(market: CompoundV3, alice: CompoundV3Account) -> None:
    indebted(alice)
    debt = alice.debt
    market.fork.deal(market.base.address, ALICE, 3 * debt)
    alice.supply(market.base.symbol, debt // 2)
    assert alice.debt == pytest.approx(debt - debt // 2, abs=1)
    alice.supply(market.base.symbol, debt)
    assert alice.debt == 0
    assert alice.base_balance == pytest.approx(debt // 2, abs=2)


def test_repaying_more_than_is_owed_repays_all_and_lends_nothing(market: CompoundV3, alice: CompoundV3Account) -> None:
    indebted(alice)
    debt = alice.debt
    market.fork.deal(market.base.address, ALICE, 3 * debt)
    alice.repay(2 * debt)
    assert (alice.debt, alice.base_balance, market.base.balance_of(ALICE)) == (0, 0, 2 * debt)


def test_approvals_are_spent_to_nothing(market: CompoundV3, alice: CompoundV3Account) -> None:
    symbol = indebted(alice).symbol
    market.fork.deal(market.base.address, ALICE, 2 * alice.debt)
    alice.repay()
    for token in (market.base.address, market.asset(symbol).address):
        allowance = market.fork.contract(token, ["allowance(address,address) view returns (uint256)"])
        assert allowance.allowance(ALICE, market.address) == 0


def test_an_asset_may_be_given_by_its_address(market: CompoundV3, alice: CompoundV3Account) -> None:
    asset = market.assets[0]
    amount = worth(market, asset.symbol, 100)
    market.fork.deal(asset.address, ALICE, amount)
    alice.supply(asset.address, amount)
    assert alice.collateral(asset.symbol) == alice.collateral(asset.address) == amount
