"""Compound V3 adapter on every market of every replica, and on mainnet's bytecode: the same tests."""

from __future__ import annotations

import itertools
import re
from decimal import Decimal
from pathlib import Path

import pytest

from mayavi import Fork
from mayavi.errors import (
    ActionRefused,
    BadArgument,
    BadInteger,
    CallReverted,
    InsufficientBalance,
    NoCode,
    UnknownName,
    UsageError,
)
from mayavi.evm.units import WAD
from mayavi.protocols import CompoundV3, CompoundV3Account, Erc20
from mayavi.protocols.compound.collateral import CollateralAsset
from mayavi.protocols.compound.market import YEAR_SECONDS, Pauses
from mayavi.protocols.health import NO_DEBT
from mayavi.worlds.deploy.compound import BORROWER
from mayavi.worlds.deploy.deployment import MARKET
from tests.protocols.compound.worlds import MAINNET, mainnet_world, replica, replica_markets, set_price

ALICE = bytes.fromhex("a11ce00000000000000000000000000000000001")
BOB = bytes.fromhex("b0b0000000000000000000000000000000000002")
WORLDS = [*replica_markets(), (MAINNET, "cUSDCv3")]


@pytest.fixture(params=WORLDS, ids=[f"{where}-{name}" for where, name in WORLDS])
def market(request: pytest.FixtureRequest) -> CompoundV3:
    """Independent market for every test."""
    where, name = request.param
    world = mainnet_world(request.getfixturevalue("cases")) if where == MAINNET else replica(where)
    return CompoundV3(world.copy(), name)


@pytest.fixture
def alice(market: CompoundV3) -> CompoundV3Account:
    return market.account(ALICE)


def worth(market: CompoundV3, symbol: str, value: int) -> int:
    """Return the amount of an asset with about that value: in dollars, or in hundredths of an ether."""
    value_e8 = value * 10 ** (8 if market.quote == "USD" else 6)
    return value_e8 * 10 ** market.asset(symbol).decimals // market.price_e8(symbol)


def put_up(account: CompoundV3Account, symbol: str, value: int = 5_000) -> int:
    """Mint and supply collateral; return its amount."""
    amount = worth(account.market, symbol, value)
    account.market.fork.deal(symbol, account.address, amount)
    account.supply(symbol, amount)
    return amount


def borrow_share(account: CompoundV3Account, percent: int) -> int:
    """Borrow that percentage of the limit; return the amount."""
    market = account.market
    amount = account.data().borrow_limit_e8 * 10**market.base.decimals // market.price_e8() * percent // 100
    account.borrow(amount)
    return amount


def indebted(account: CompoundV3Account, percent: int = 90) -> CollateralAsset:
    """Supply the first collateral and borrow against it; return the asset."""
    asset = account.market.assets[0]
    put_up(account, asset.symbol)
    borrow_share(account, percent)
    return asset


def absorbed(account: CompoundV3Account) -> CollateralAsset:
    """Lower the price of its only collateral to the edge, and absorb it; return the asset."""
    asset = indebted(account)
    price = account.liquidation_price(asset.symbol)
    assert price
    set_price(account.market, asset.symbol, price)
    account.market.absorb(account.address, sender=BOB)
    return asset


# -- acting -----------------------------------------------------------------------------------------------------------


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


# -- reading ----------------------------------------------------------------------------------------------------------


def test_rates_and_indexes_follow_from_utilisation_and_time(market: CompoundV3, alice: CompoundV3Account) -> None:
    before, rates = market.totals(), market.rates()
    assert rates.utilisation_wad == before.borrowed * WAD // before.supplied
    assert 0 < rates.supply_per_second_wad < rates.borrow_per_second_wad
    assert rates.borrow_rate == Decimal(rates.borrow_per_second_wad * YEAR_SECONDS) / WAD
    market.fork.mine(seconds=100_000)
    elapsed = market.fork.timestamp - before.last_accrual
    alice.accrue()
    after = market.totals()
    for index, rate in (("supply_index", rates.supply_per_second_wad), ("borrow_index", rates.borrow_per_second_wad)):
        then = getattr(before, index)
        assert getattr(after, index) == then + then * (rate * elapsed) // WAD
    assert after.supplied == after.supply_principal * after.supply_index // 10**15
    assert after.borrowed == after.borrow_principal * after.borrow_index // 10**15
    assert after.last_accrual == market.fork.timestamp


def test_reserves_are_what_is_left_when_all_loans_are_settled(market: CompoundV3, alice: CompoundV3Account) -> None:
    indebted(alice)
    for _ in range(3):
        market.fork.mine(seconds=50_000)
        totals = market.totals()
        assert market.reserves == market.base.balance_of(market.address) + totals.borrowed - totals.supplied
    assert 0 < market.reserves < market.target_reserves


def test_figures_are_those_of_the_contract_at_every_price(market: CompoundV3, alice: CompoundV3Account) -> None:
    asset = indebted(alice)
    if len(market.assets) > 1:
        put_up(alice, market.assets[1].symbol, 300)
    market.fork.mine(seconds=1_000_000)
    alice.accrue()
    price, seen = market.price_e8(asset.symbol), set()
    for percent in (100, 97, 94, 90, 85, 80, 60):
        set_price(market, asset.symbol, price * percent // 100)
        data = alice.data()
        assert data.liquidatable is alice.liquidatable is market.contract.isLiquidatable(ALICE)
        assert data.borrow_collateralized is market.contract.isBorrowCollateralized(ALICE)
        assert data.liquidatable is (data.liquidation_ratio_wad < WAD)
        assert alice.health_factor == Decimal(data.liquidation_ratio_wad) / WAD
        seen.add((data.borrow_collateralized, data.liquidatable))
    assert seen >= {(True, False), (False, True)}


def test_liquidatable_counts_the_interest_that_nobody_accrued_yet(market: CompoundV3, alice: CompoundV3Account) -> None:
    asset = indebted(alice)
    price = alice.liquidation_price(asset.symbol)
    assert price
    set_price(market, asset.symbol, price + price // 200)
    assert not alice.liquidatable
    market.fork.mine(seconds=YEAR_SECONDS // 2)
    assert alice.liquidatable
    assert not market.contract.isLiquidatable(ALICE)  # the view knows only what was accrued
    market.absorb(ALICE, sender=BOB)
    assert alice.debt == 0


def test_the_liquidation_price_is_exact_to_the_last_digit(market: CompoundV3, alice: CompoundV3Account) -> None:
    symbols = [asset.symbol for asset in market.assets]
    for symbol, other in itertools.product(symbols, [None, *symbols[:2]]):
        if symbol == other:
            continue
        with market.fork.snapshot():
            put_up(alice, symbol)
            if other:
                put_up(alice, other, 700)
            borrow_share(alice, 83)
            market.fork.mine(seconds=12_345)
            alice.accrue()
            price = alice.liquidation_price(symbol)
            assert price is not None
            for answer, expected in ((price, True), (price + 1, False)):
                set_price(market, symbol, answer)
                assert alice.liquidatable is market.contract.isLiquidatable(ALICE) is expected
                assert alice.liquidation_price(symbol) == price
            with pytest.raises(CallReverted, match="NotLiquidatable"):
                market.absorb(ALICE, sender=BOB)
            set_price(market, symbol, price)
            market.absorb(ALICE, sender=BOB)


def test_there_is_no_liquidation_price_where_no_price_would_do(market: CompoundV3, alice: CompoundV3Account) -> None:
    asset = market.assets[0]
    assert alice.liquidation_price(asset.symbol) is None  # nothing there
    put_up(alice, asset.symbol)
    assert alice.liquidation_price(asset.symbol) is None  # no debt
    assert (alice.liquidation_ratio_wad, alice.health_factor) == (NO_DEBT, Decimal("Infinity"))
    borrow_share(alice, 10)
    if len(market.assets) > 1:
        other = market.assets[1].symbol
        assert alice.liquidation_price(other) is None  # none of it
        put_up(alice, other)
        assert alice.liquidation_price(asset.symbol) is None  # the other one alone is enough


def test_a_position_lists_what_there_is(market: CompoundV3, alice: CompoundV3Account) -> None:
    asset = indebted(alice, 50)
    position, data = alice.position(), alice.data()
    assert (position.market, position.quote, position.totals) == (market.symbol, market.quote, data)
    collateral, base = position.assets
    assert (collateral.symbol, collateral.supplied, collateral.debt) == (
        asset.symbol,
        alice.collateral(asset.symbol),
        0,
    )
    assert collateral.value_e8 == data.collateral_value_e8
    assert collateral.liquidate_collateral_factor_wad == asset.liquidate_collateral_factor_wad
    assert collateral.liquidation_price_e8 == alice.liquidation_price(asset.symbol)
    assert (base.symbol, base.supplied, base.debt) == (market.base.symbol, 0, alice.debt)
    assert (base.value_e8, base.liquidation_price_e8) == (data.debt_value_e8, None)
    assert market.account(BOB).position().assets == ()


def test_a_batch_says_what_each_account_says(market: CompoundV3, alice: CompoundV3Account) -> None:
    asset = indebted(alice)
    market.fork.deal(market.base.address, BOB, 10**market.base.decimals)
    market.account(BOB).supply(market.base.symbol, 10**market.base.decimals)
    market.fork.mine(seconds=5_000_000)
    price = alice.liquidation_price(asset.symbol)
    assert price
    set_price(market, asset.symbol, price)
    accounts = [ALICE, BOB, MARKET, BORROWER, "0x00000000000000000000000000000000000000e0", ALICE]
    arrays = market.account_data(accounts)
    assert len(arrays) == len(accounts)
    for row, address in enumerate(accounts):
        account = market.account(address)
        data = account.data()
        assert arrays[row] == data
        assert bool(arrays.liquidatable[row]) is data.liquidatable
        assert bool(arrays.borrow_collateralized[row]) is data.borrow_collateralized
        held = {symbol: column[row] for symbol, column in arrays.collateral.items() if column[row]}
        assert held == account.collaterals()
    assert list(arrays.liquidatable[:2]) == [True, False]
    assert arrays.debt.ints()[0] == alice.debt
    assert len(market.account_data([])) == 0


# -- liquidation ------------------------------------------------------------------------------------------------------


def test_an_absorbed_account_owes_nothing_and_the_market_has_its_collateral(
    market: CompoundV3, alice: CompoundV3Account
) -> None:
    asset = indebted(alice)
    held, price = alice.collateral(asset.symbol), alice.liquidation_price(asset.symbol)
    assert price
    set_price(market, asset.symbol, price)
    reserves, debt = market.reserves, alice.debt
    credited = asset.value_e8(held, price) * asset.liquidation_factor_wad // WAD
    market.absorb([ALICE], sender=BOB)
    assert (alice.debt, alice.collaterals()) == (0, {})
    assert market.collateral_reserves(asset.symbol) == held
    left = credited * 10**market.base.decimals // market.price_e8() - debt
    assert alice.base_balance == pytest.approx(max(left, 0), abs=2)
    assert market.reserves == pytest.approx(reserves - debt - max(left, 0), abs=3)


def test_collateral_is_bought_as_quoted(market: CompoundV3, alice: CompoundV3Account) -> None:
    asset = absorbed(alice)
    for_sale, unit = market.collateral_reserves(asset.symbol), 10**market.base.decimals
    factor = market.contract.storeFrontPriceFactor() * (WAD - asset.liquidation_factor_wad) // WAD
    discounted = market.price_e8(asset.symbol) * (WAD - factor) // WAD
    for pay in (1, 17, unit // 100, 3 * unit // 2):
        with market.fork.snapshot():
            quote = market.quote_collateral(asset.symbol, pay)
            assert quote == market.price_e8() * pay * 10**asset.decimals // discounted // unit
            market.fork.deal(market.base.address, BOB, pay)
            bought = market.buy_collateral(asset.symbol, pay, quote, sender=BOB)
            assert bought.amount == quote
            assert market.collateral_reserves(asset.symbol) == for_sale - quote
            token = market.fork.contract(asset.address, ["balanceOf(address) view returns (uint256)"])
            assert token.balanceOf(BOB) == quote
            assert market.base.balance_of(BOB) == 0


def test_bought_collateral_goes_to_the_recipient(market: CompoundV3, alice: CompoundV3Account) -> None:
    asset, pay = absorbed(alice), 10**market.base.decimals // 10
    market.fork.deal(market.base.address, BOB, pay)
    bought = market.buy_collateral(asset.symbol, pay, sender=BOB, recipient=ALICE)
    token = market.fork.contract(asset.address, ["balanceOf(address) view returns (uint256)"])
    assert (token.balanceOf(ALICE), token.balanceOf(BOB)) == (bought.amount, 0)


def test_buying_is_refused_by_name(market: CompoundV3, alice: CompoundV3Account) -> None:
    asset, pay = absorbed(alice), 10**market.base.decimals // 10
    everything = 10**9 * pay
    market.fork.deal(market.base.address, BOB, everything)
    quote = market.quote_collateral(asset.symbol, pay)
    token, base = Erc20(market.fork, asset.address), market.base
    with pytest.raises(CallReverted, match=f"a purchase of {asset.symbol} for .* TooMuchSlippage") as refused:
        market.buy_collateral(asset.symbol, pay, quote + 1, sender=BOB)
    assert f"it gives {token.text(quote)} for that now" in str(refused.value.hint)
    assert f"{token.text(quote + 1)} were the least to take" in str(refused.value.hint)
    with pytest.raises(CallReverted, match="InsufficientReserves") as refused:
        market.buy_collateral(asset.symbol, everything, sender=BOB)
    for_sale = market.collateral_reserves(asset.symbol)
    market.fork.deal(market.base.address, market.address, 10**6 * market.target_reserves)
    assert f"has {token.text(for_sale)}" in str(refused.value.hint)
    with pytest.raises(CallReverted, match="NotForSale") as refused:
        market.buy_collateral(asset.symbol, pay, sender=BOB)
    assert f"{base.text(market.reserves)}, are below their target, {base.text(market.target_reserves)}" in str(
        refused.value.hint
    )


def test_absorbing_is_all_or_none(market: CompoundV3, alice: CompoundV3Account) -> None:
    asset = indebted(alice)
    price = alice.liquidation_price(asset.symbol)
    assert price
    set_price(market, asset.symbol, price)
    before = market.fork.digest()
    with pytest.raises(CallReverted, match="NotLiquidatable") as refused:
        market.absorb([ALICE, MARKET], sender=BOB)
    assert refused.value.hint == "not liquidatable now: Mayavi.Market"
    assert market.fork.digest() == before
    assert alice.debt > 0


# -- refusals ---------------------------------------------------------------------------------------------------------


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


# -- names ------------------------------------------------------------------------------------------------------------


def test_a_market_is_found_by_symbol_label_or_address() -> None:
    fork = replica("ethereum").copy()
    by_default = CompoundV3(fork)
    assert by_default.address == fork.address_of("CompoundV3.cUSDCv3")
    assert CompoundV3(fork, "CompoundV3.cUSDCv3").address == by_default.address
    assert CompoundV3(fork, fork.labels["CompoundV3.cUSDCv3"]).symbol == "cUSDCv3"
    assert (by_default.quote, CompoundV3(fork, "cWETHv3").quote) == ("USD", "ETH")
    with pytest.raises(UnknownName, match="unknown Compound market 'cUSDTv3'") as caught:
        CompoundV3(fork, "cUSDTv3")
    assert caught.value.hint
    assert "cUSDCv3" in caught.value.hint
    with pytest.raises(UnknownName):
        CompoundV3(fork, "USDC")
    with pytest.raises(UnknownName, match="no Compound V3 market is known on ethereum"):
        CompoundV3(Fork.empty())
    with pytest.raises(UnknownName, match="no Compound V3 market is known on avalanche"):
        CompoundV3(replica("avalanche"))
    with pytest.raises(UsageError, match="WETH is no Compound V3 market"):
        CompoundV3(fork, fork.labels["WETH"])
    with pytest.raises(NoCode):
        CompoundV3(fork, ALICE)
    with pytest.raises(UsageError, match="'ethereum' is not a fork"):
        CompoundV3("ethereum")  # type: ignore[arg-type]


def test_accounts_are_addresses_names_or_account_objects_of_this_fork(
    market: CompoundV3, alice: CompoundV3Account
) -> None:
    asset = indebted(alice)
    price = alice.liquidation_price(asset.symbol)
    assert price
    set_price(market, asset.symbol, price)
    bob, other = market.account(BOB), CompoundV3(market.fork.copy(), market.address)
    expected = market.account_data([ALICE])[0]
    assert market.account_data(alice)[0] == market.account_data(ALICE)[0] == market.account_data([alice])[0] == expected
    for act in (
        lambda: other.absorb(alice, sender=BOB),
        lambda: other.absorb([ALICE], sender=bob),
        lambda: other.account(alice),
        lambda: other.account_data([alice]),
        lambda: other.buy_collateral(asset.symbol, 1, sender=bob),
        lambda: other.asset(market.base),
    ):
        with pytest.raises(UsageError, match="belongs to another fork"):
            act()
    with pytest.raises(BadArgument, match="5 is neither one of the accounts"):
        market.absorb(5, sender=BOB)  # type: ignore[arg-type]
    with market.fork.snapshot():
        market.absorb([alice], sender=bob)
        assert alice.debt == 0
    market.absorb(alice, sender=bob)
    assert alice.debt == 0


def test_an_account_is_itself(market: CompoundV3, alice: CompoundV3Account) -> None:
    assert alice == CompoundV3(market.fork, market.address).account(ALICE)
    assert len({alice, market.account(ALICE), market.account(BOB)}) == 2
    assert alice != market.account(BOB)
    assert alice != CompoundV3(market.fork.copy(), market.address).account(ALICE)
    assert alice != ALICE


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


def test_the_real_bytecode_is_where_the_tests_say(cases: Path) -> None:
    fork = mainnet_world(cases)
    assert len(fork.code("CompoundV3.cUSDCv3")) == 19_027
    assert fork.code("CompoundV3.cUSDCv3") != replica("ethereum").code("CompoundV3.cUSDCv3")
