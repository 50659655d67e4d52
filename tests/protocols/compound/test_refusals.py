"""What is refused, by name and with nothing changed, on every replica and on mainnet's bytecode."""

from __future__ import annotations

import re

import pytest

from mayavi.errors import (
    ActionRefused,
    BadInteger,
    CallReverted,
    InsufficientBalance,
    UnknownName,
)
from mayavi.protocols import CompoundV3, CompoundV3Account
from mayavi.protocols.compound.market import Pauses
from mayavi.worlds.deploy.deployment import MARKET
from tests.protocols.compound.positions import ALICE, BOB, borrow_share, indebted, put_up


def test_what_the_contract_refuses_has_its_name(market: CompoundV3, alice: CompoundV3Account) -> None:
    asset = market.assets[0]
    put_up(alice, asset.symbol)
    with pytest.raises(CallReverted, match="NotCollateralized") as caught:
        borrow_share(alice, 101)
    assert caught.value.reason
    assert caught.value.hint
    if market.minimum_borrow > 1:
        with pytest.raises(CallReverted, match="BorrowTooSmall"):
            alice.borrow(market.minimum_borrow - 1)
    borrow_share(alice, 99)
    with pytest.raises(CallReverted, match="NotCollateralized"):
        alice.withdraw(asset.symbol, alice.collateral(asset.symbol) // 2)
    too_much = asset.supply_cap - market.asset(asset.symbol).supplied + 1
    market.fork.deal(asset.address, ALICE, too_much)
    with pytest.raises(CallReverted, match="SupplyCapExceeded"):
        alice.supply(asset.symbol, too_much)
    alice.supply(asset.symbol, too_much - 1)
    assert market.asset(asset.symbol).supplied == asset.supply_cap


def test_a_paused_market_says_so(market: CompoundV3, alice: CompoundV3Account) -> None:
    asset = indebted(alice)
    market.fork.deal(market.base.address, ALICE, alice.debt)
    guard = market.fork.contract(
        market.address, ["pauseGuardian() view returns (address)", "pause(bool,bool,bool,bool,bool)"]
    )
    assert not any(market.pauses)
    guard.pause(True, True, True, True, True, sender=guard.pauseGuardian())
    assert all(market.pauses)
    for act in (
        lambda: alice.repay(),
        lambda: alice.withdraw(asset.symbol, 1),
        lambda: market.absorb(ALICE, sender=BOB),
    ):
        with pytest.raises(CallReverted, match="Paused"):
            act()
    market.fork.deal(asset.address, market.address, 10 * asset.supply_cap)
    with pytest.raises(CallReverted, match="Paused"):
        market.buy_collateral(asset.symbol, 1, sender=ALICE)


@pytest.mark.parametrize("which", range(len(Pauses._fields)), ids=Pauses._fields)
def test_each_pause_is_told_by_its_own_name(market: CompoundV3, which: int) -> None:
    guard = market.fork.contract(
        market.address, ["pauseGuardian() view returns (address)", "pause(bool,bool,bool,bool,bool)"]
    )
    flags = [each == which for each in range(len(Pauses._fields))]
    guard.pause(*flags, sender=guard.pauseGuardian())
    assert market.pauses._asdict() == dict(zip(("supply", "transfer", "withdraw", "absorb", "buy"), flags, strict=True))


def test_too_little_of_a_token_says_which_and_how_much(market: CompoundV3, alice: CompoundV3Account) -> None:
    asset, base = market.assets[0], market.base
    market.fork.deal(asset.address, ALICE, 7)
    with pytest.raises(InsufficientBalance, match=asset.symbol):
        alice.supply(asset.symbol, 8)
    put_up(alice, asset.symbol)
    held = alice.collateral(asset.symbol)
    with pytest.raises(InsufficientBalance, match=f"{asset.symbol} in {market.symbol}"):
        alice.withdraw(asset.symbol, held + 1)
    with pytest.raises(InsufficientBalance, match=f"has 0 {base.symbol} in {market.symbol}"):
        alice.withdraw(base.symbol, 1)
    with pytest.raises(InsufficientBalance, match=f"{market.symbol} has .* {base.symbol} in cash"):
        alice.borrow(base.balance_of(market.address) + 1)
    with pytest.raises(InsufficientBalance, match=f"{market.symbol} has .* {base.symbol} in cash"):
        market.account(MARKET).withdraw(base.symbol)
    with pytest.raises(ActionRefused, match="owes nothing"):
        alice.repay(1)
    with pytest.raises(BadInteger):
        alice.supply(asset.symbol, -1)


def test_what_fails_changes_nothing(market: CompoundV3, alice: CompoundV3Account) -> None:
    asset = indebted(alice)
    market.fork.deal(asset.address, ALICE, 2 * asset.supply_cap)
    market.fork.deal(market.base.address, BOB, 10**6)
    market.fork.mine(seconds=10)
    before = market.fork.digest()
    for act in (
        lambda: alice.supply(asset.symbol, 2 * asset.supply_cap),
        lambda: borrow_share(alice, 100),
        lambda: alice.withdraw(asset.symbol),
        lambda: market.absorb(ALICE, sender=BOB),
        lambda: market.buy_collateral(asset.symbol, 10**6, sender=BOB),
        lambda: market.absorb([], sender=BOB),
    ):
        with pytest.raises((CallReverted, ActionRefused)):
            act()
        assert market.fork.digest() == before


def test_an_unknown_asset_is_named_with_the_nearest_of_this_market(
    market: CompoundV3, alice: CompoundV3Account
) -> None:
    symbol = market.assets[0].symbol
    with pytest.raises(UnknownName, match=f"unknown collateral asset '{symbol}X'") as caught:
        alice.supply(f"{symbol}X", 1)
    assert caught.value.hint
    assert f"did you mean '{symbol}'" in caught.value.hint
    assert f"lends {market.base.symbol}" in caught.value.hint
    with pytest.raises(UnknownName):
        market.quote_collateral(market.base.symbol, 1)  # the base token is no collateral
    with pytest.raises(UnknownName):
        market.price_e8(ALICE)


def test_nothing_to_do_is_refused(market: CompoundV3, alice: CompoundV3Account) -> None:
    asset, base = market.assets[0].symbol, market.base.symbol
    market.fork.deal(market.base.address, ALICE, 10**6)
    for act, message in (
        (lambda: alice.supply(asset, 0), f"a supply of 0 {asset} moves nothing"),
        (lambda: alice.borrow(0), f"a loan of 0 {base} moves nothing"),
        (lambda: alice.withdraw(asset, 0), f"a withdrawal of 0 {asset} moves nothing"),
        (lambda: alice.withdraw(base, 0), f"a withdrawal of 0 {base} moves nothing"),
        (lambda: alice.withdraw(asset), f"has no {asset} in {market.symbol}"),
        (lambda: alice.withdraw(base), f"has no {base} in {market.symbol}"),
        (lambda: market.absorb([], sender=BOB), "there is no account to absorb"),
        (lambda: market.buy_collateral(asset, 0, sender=ALICE), f"a payment of 0 {base} buys nothing"),
        (lambda: market.buy_collateral(asset, 10**6, sender=ALICE), f"none of {asset} is for sale in {market.symbol}"),
    ):
        before = market.fork.digest()
        with pytest.raises(ActionRefused, match=re.escape(message)):
            act()
        assert market.fork.digest() == before
    indebted(alice)
    with pytest.raises(ActionRefused, match=re.escape(f"a repayment of 0 {base} moves nothing")):
        alice.repay(0)
