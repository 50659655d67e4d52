"""What a Compound V3 market and its accounts say, on every replica and on mainnet's bytecode."""

from __future__ import annotations

import itertools
from decimal import Decimal

import pytest

from mayavi.errors import (
    CallReverted,
)
from mayavi.evm.units import WAD
from mayavi.protocols import CompoundV3, CompoundV3Account
from mayavi.protocols.compound.market import YEAR_SECONDS
from mayavi.protocols.health import NO_DEBT
from mayavi.worlds.deploy.compound import BORROWER
from mayavi.worlds.deploy.deployment import MARKET
from tests.protocols.compound.positions import ALICE, BOB, borrow_share, indebted, put_up
from tests.protocols.compound.worlds import set_price


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
