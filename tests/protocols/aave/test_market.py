"""Aave V3 through its adapter, on every chain's replica: reading a market, and the way in and out."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mayavi import Fork
from mayavi.errors import UnknownName
from mayavi.evm.address import ZERO_ADDRESS
from mayavi.protocols import AaveAccount, AaveV3, Erc20
from mayavi.protocols.aave.account import EVERYTHING
from tests.protocols.aave.reference import (
    ALICE,
    BOB,
    CAROL,
    NO_DEBT,
    RAY,
    WAD,
    YEAR,
    data_provider,
    give_and_supply,
    later,
    scaled_balance,
    whole,
)


def test_the_first_lines_anybody_writes_work_as_written(fork: Fork) -> None:
    market = AaveV3(fork)
    alice = market.account("0x00000000000000000000000000000000000a11ce")
    fork.deal("WETH", alice.address, 10**18)
    alice.supply("WETH", 10**18)
    alice.borrow("USDC", 1_000 * 10**6)
    assert Decimal("1.5") < alice.health_factor < 3
    assert 0 < market.reserve("USDC").variable_borrow_rate < 1


def test_reserves_are_what_aaves_own_data_provider_says(market: AaveV3) -> None:
    market.fork.mine(1, 86_400)
    provider = data_provider(market)
    reserves = market.reserves()
    assert [reserve.address for reserve in reserves] == market.pool.getReservesList()
    for reserve in reserves:
        asset, own, unit = reserve.address, reserve.configuration, 10**reserve.decimals
        assert market.fork.address_of(reserve.symbol) == asset
        assert market.reserve(reserve.symbol) == market.reserve(asset) == reserve
        assert provider.getReserveConfigurationData(asset) == (
            own.decimals,
            own.ltv_bps,
            own.liquidation_threshold_bps,
            own.liquidation_bonus_bps,
            own.reserve_factor_bps,
            own.liquidation_threshold_bps > 0,
            own.borrowing,
            False,
            own.active,
            own.frozen,
        ), reserve.symbol
        caps = provider.getReserveCaps(asset)
        assert (caps.borrowCap * unit, caps.supplyCap * unit) == (own.borrow_cap or 0, own.supply_cap or 0)
        assert provider.getDebtCeiling(asset) == (own.debt_ceiling_usd_e2 or 0)
        assert own.isolated == (own.debt_ceiling_usd_e2 is not None)
        assert provider.getPaused(asset) == own.paused
        assert provider.getSiloedBorrowing(asset) == own.siloed
        assert provider.getLiquidationProtocolFee(asset) == own.liquidation_protocol_fee_bps
        assert own.emode == (0 if later(market) else provider.getReserveEModeCategory(asset))
        assert provider.getFlashLoanEnabled(asset) == own.flash_loans
        data = provider.getReserveData(asset)
        assert data.accruedToTreasury == reserve.accrued_to_treasury_scaled
        assert (data.supplied, data.stableDebt + data.variableDebt) == (reserve.supplied, reserve.borrowed)
        assert (data.supplyRate, data.variableRate) == (reserve.supply_rate_ray, reserve.variable_borrow_rate_ray)
        assert data.liquidityIndex == reserve.liquidity_index_ray <= reserve.normalised_income_ray
        assert data.variableIndex == reserve.variable_borrow_index_ray <= reserve.normalised_variable_debt_ray
        assert data.lastUpdate == reserve.last_update
        assert provider.getReserveTokensAddresses(asset) == (
            reserve.a_token,
            reserve.stable_debt_token or ZERO_ADDRESS,
            reserve.variable_debt_token,
        )
        held = Erc20(market.fork, asset).balance_of(reserve.a_token)
        assert reserve.available == held or (later(market) and reserve.available < held)  # V3.6 counts for itself
        assert reserve.utilisation_ray == reserve.borrowed * RAY // (reserve.borrowed + reserve.available or 1)
        assert reserve.price_usd_e8 == market.price_usd_e8(asset) > 0


def test_rates_and_utilisation_read_as_fractions(market: AaveV3, borrower: AaveAccount) -> None:
    del borrower  # there is a debt
    usdc = market.reserve("USDC")
    assert usdc.variable_borrow_rate == Decimal(usdc.variable_borrow_rate_ray).scaleb(-27)
    assert usdc.supply_rate == Decimal(usdc.supply_rate_ray).scaleb(-27)
    assert usdc.utilisation == Decimal(usdc.utilisation_ray).scaleb(-27)
    assert 0 < usdc.supply_rate < usdc.variable_borrow_rate
    assert 0 < usdc.utilisation < 1


def test_borrowing_raises_both_rates(market: AaveV3, alice: AaveAccount) -> None:
    give_and_supply(alice, "WETH", WAD)
    before = market.reserve("USDC")
    alice.borrow("USDC", 1_000 * 10**6)
    after = market.reserve("USDC")
    assert after.supply_rate > before.supply_rate
    assert after.variable_borrow_rate > before.variable_borrow_rate


def test_many_accounts_are_read_as_one_by_one(market: AaveV3, borrower: AaveAccount, bob: AaveAccount) -> None:
    give_and_supply(bob, "WETH", 2 * WAD)
    accounts = [ALICE, BOB, CAROL, "Mayavi.Market"]
    columns = market.account_data(accounts)
    assert len(columns) == 4
    for row, account in enumerate(accounts):
        assert columns[row] == market.account(account).data()
    assert columns.health_factor_wad.ints()[1] == NO_DEBT
    assert columns.collateral_usd_e8.float64(1e8)[1] == pytest.approx(2 * market.price_usd_e8("WETH") / 1e8)
    assert len(market.account_data([])) == 0


def test_tokens_of_reserves_are_read_once_if_asked_for(fork: Fork, monkeypatch: pytest.MonkeyPatch) -> None:
    market, other = AaveV3(fork), AaveV3(fork)
    market.remember_tokens()
    told = [market.a_token("WETH").address, market.variable_debt_token("WETH").address]
    monkeypatch.setattr(market, "_reserve_words", None)
    assert told == [market.a_token("WETH").address, market.variable_debt_token("WETH").address]
    assert told == [other.a_token("WETH").address, other.variable_debt_token("WETH").address]
    monkeypatch.undo()
    with pytest.raises(UnknownName):
        market.a_token("unlisted")


def test_supply_borrow_time_repay_all_withdraw_all_leaves_nothing(borrower: AaveAccount, market: AaveV3) -> None:
    """The result is balance times index; rounding half up costs or gains at most two smallest units."""
    fork = market.fork
    weth, usdc = market.reserve("WETH"), market.reserve("USDC")
    scaled_supply = scaled_balance(fork, weth.a_token, ALICE)
    scaled_debt = scaled_balance(fork, usdc.variable_debt_token, ALICE)
    assert borrower.supplied("WETH") >= WAD
    fork.mine(1, YEAR)

    owed = borrower.debt("USDC")
    exact = scaled_debt * market.reserve("USDC").normalised_variable_debt_ray / RAY
    assert owed > 1_500 * 10**6
    assert owed == pytest.approx(exact, abs=2)
    fork.deal("USDC", ALICE, owed)
    borrower.repay("USDC")
    assert (borrower.debt("USDC"), borrower.balance("USDC")) == (0, 0)
    assert scaled_balance(fork, usdc.variable_debt_token, ALICE) == 0

    index = market.reserve("WETH").normalised_income_ray
    borrower.withdraw("WETH")
    assert (borrower.supplied("WETH"), scaled_balance(fork, weth.a_token, ALICE)) == (0, 0)
    assert abs(borrower.balance("WETH") * RAY - scaled_supply * index) <= 2 * RAY
    assert market.pool.getUserConfiguration(ALICE) == 0
    assert borrower.position().assets == ()
    for token in ("WETH", "USDC"):
        assert Erc20(fork, token).allowance(ALICE, market.pool.address) == 0


def test_what_is_accrued_for_the_treasury_is_what_it_can_be_given(borrower: AaveAccount) -> None:
    market = borrower.market
    give_and_supply(borrower, "WETH", 1_000 * WAD)
    borrower.borrow("USDC", 10**6 * 10**6)
    market.fork.mine(1, 86_400)
    borrower.borrow("USDC", 10**6)
    usdc, treasury = market.reserve("USDC"), f"{market.prefix}.Treasury"
    held = Erc20(market.fork, usdc.a_token).balance_of(treasury)
    pool = market.fork.contract(market.pool.address, ["mintToTreasury(address[] assets)"])
    pool.mintToTreasury([usdc.address], sender=ALICE)
    given = Erc20(market.fork, usdc.a_token).balance_of(treasury) - held
    assert given == pytest.approx(usdc.accrued_to_treasury_scaled * usdc.normalised_income_ray // RAY, abs=1)
    assert given > 0
    assert market.reserve("USDC").accrued_to_treasury_scaled == 0


def test_supplied_and_withdrawn_at_once_loses_at_most_a_unit(market: AaveV3, alice: AaveAccount) -> None:
    market.fork.mine(1, YEAR)
    for asset in ("WETH", "USDC"):
        amount = whole(market, asset, 3) + 1
        give_and_supply(alice, asset, amount)
        assert abs(alice.supplied(asset) - amount) <= 1
        alice.withdraw(asset)
        assert abs(alice.balance(asset) - amount) <= 1
        assert alice.supplied(asset) == 0


def test_parts_are_repaid_and_withdrawn_and_more_than_is_owed_is_not_taken(borrower: AaveAccount) -> None:
    fork, owed = borrower.market.fork, borrower.debt("USDC")
    borrower.repay("USDC", 500 * 10**6)
    assert abs(borrower.debt("USDC") - (owed - 500 * 10**6)) <= 1
    borrower.withdraw("WETH", WAD // 10)
    assert borrower.balance("WETH") == WAD // 10
    fork.deal("USDC", ALICE, 5_000 * 10**6)
    left = borrower.debt("USDC")
    borrower.repay("USDC", 4_000 * 10**6)
    assert (borrower.debt("USDC"), borrower.balance("USDC")) == (0, 5_000 * 10**6 - left)
    borrower.withdraw("WETH", EVERYTHING)
    assert borrower.supplied("WETH") == 0


def test_every_asset_that_is_open_goes_the_whole_way(market: AaveV3, alice: AaveAccount) -> None:
    """Silent tokens, six and eight decimals, wrappers: each is supplied, lent and repaid."""
    for reserve in market.reserves():
        own = reserve.configuration
        full = own.supply_cap is not None and reserve.supplied + whole(market, reserve.symbol) > own.supply_cap
        if not own.active or own.frozen or own.paused or full or own.borrow_cap == whole(market, reserve.symbol):
            continue
        with market.fork.snapshot():
            amount = whole(market, reserve.symbol)
            give_and_supply(alice, reserve.symbol, amount)
            give_and_supply(alice, "WETH", 100 * WAD)
            part = min(amount // 100, reserve.available // 2)
            if own.borrowing and not own.siloed and not own.isolated:
                alice.borrow(reserve.symbol, part)
                market.fork.mine(1, 3_600)
                market.fork.deal(reserve.symbol, ALICE, alice.debt(reserve.symbol))
                alice.repay(reserve.symbol)
                assert alice.debt(reserve.symbol) == 0
            alice.withdraw(reserve.symbol)
            assert alice.supplied(reserve.symbol) == 0
