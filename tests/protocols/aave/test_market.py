"""Aave V3 through its adapter, on every chain's replica."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mayavi import Fork, checksum, format_units
from mayavi.errors import (
    BadAddress,
    BadArgument,
    BadInteger,
    CallReverted,
    InsufficientBalance,
    NoCode,
    UnknownName,
)
from mayavi.evm.address import ZERO_ADDRESS
from mayavi.protocols import AaveAccount, AaveV3, Erc20
from mayavi.protocols.aave.account import EVERYTHING
from mayavi.protocols.aave.flash_loan import flash_borrower
from mayavi.worlds import world_names
from tests.protocols.aave.reference import (
    NO_DEBT,
    RAY,
    WAD,
    an_asset_for_isolation,
    an_emode,
    an_isolated_asset,
    data_provider,
    give_and_supply,
    govern,
    health_factor_wad,
    list_asset,
    move_price,
    percent_mul,
    scaled_balance,
    seizure,
    whole,
)

ALICE, BOB, CAROL = (bytes.fromhex(name.ljust(40, "0")) for name in ("a11ce0", "b0b000", "ca4010"))
YEAR = 365 * 86_400


@pytest.fixture(scope="module", params=world_names())
def world(request: pytest.FixtureRequest) -> Fork:
    return Fork.replica(request.param)


@pytest.fixture
def fork(world: Fork) -> Fork:
    return world.copy()


@pytest.fixture
def market(fork: Fork) -> AaveV3:
    return AaveV3(fork)


@pytest.fixture
def alice(market: AaveV3) -> AaveAccount:
    return market.account(ALICE)


@pytest.fixture
def bob(market: AaveV3) -> AaveAccount:
    return market.account(BOB)


@pytest.fixture
def borrower(market: AaveV3, alice: AaveAccount) -> AaveAccount:
    """Alice with 1 WETH supplied and 1,500 USDC borrowed; a week has passed, so no index is a round number."""
    market.fork.mine(1, 7 * 86_400)
    give_and_supply(alice, "WETH", WAD)
    alice.borrow("USDC", 1_500 * 10**6)
    market.fork.mine(1, 86_400)
    return alice


# -- the market -------------------------------------------------------------------------------------------------------


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
        assert provider.getReserveEModeCategory(asset) == own.emode
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
        assert reserve.available == Erc20(market.fork, asset).balance_of(reserve.a_token)
        assert reserve.utilisation_ray == reserve.borrowed * RAY // (reserve.borrowed + reserve.available or 1)
        assert reserve.price_usd_e8 == market.price_usd_e8(asset) > 0


def test_rates_and_utilisation_read_as_fractions(market: AaveV3) -> None:
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


# -- the whole way round ----------------------------------------------------------------------------------------------


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
        if not own.active or own.frozen or own.paused:
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


# -- health -----------------------------------------------------------------------------------------------------------


def test_the_health_factor_is_that_of_an_independent_computation(market: AaveV3, alice: AaveAccount) -> None:
    assert alice.health_factor == Decimal("Infinity")
    assert alice.data().health_factor_wad == health_factor_wad(alice) == NO_DEBT
    market.fork.mine(1, 12_345)
    give_and_supply(alice, "WETH", 3 * WAD + 7)
    give_and_supply(alice, "USDC", 2_000 * 10**6 + 1)
    alice.borrow("USDC", 1_234_567_891)
    alice.borrow("WETH", WAD // 3)
    price = market.price_usd_e8("WETH")
    for seconds, percent in ((1, 100), (86_400, 83), (YEAR, 71), (3_600, 37)):
        market.fork.mine(1, seconds)
        move_price(market, "WETH", price * percent // 100)
        assert alice.data().health_factor_wad == health_factor_wad(alice)
        assert alice.health_factor == Decimal(alice.data().health_factor_wad).scaleb(-18)
    alice.set_collateral("USDC", False)
    assert alice.data().health_factor_wad == health_factor_wad(alice)


def test_at_the_liquidation_price_health_is_below_one_and_above_it_not(borrower: AaveAccount) -> None:
    market = borrower.market
    give_and_supply(borrower, "USDC", 100 * 10**6)
    price = borrower.liquidation_price_usd_e8("WETH")
    assert price is not None
    for above, healthy in ((1, True), (0, False), (-price // 100, False), (price // 100, True)):
        move_price(market, "WETH", price + above)
        assert (borrower.health_factor >= 1) is healthy
        assert borrower.liquidation_price_usd_e8("WETH") == price


def test_where_no_price_matters_there_is_no_liquidation_price(market: AaveV3, alice: AaveAccount) -> None:
    assert alice.liquidation_price_usd_e8("WETH") is None
    give_and_supply(alice, "WETH", WAD)
    assert alice.liquidation_price_usd_e8("WETH") is None
    give_and_supply(alice, "USDC", 3_000 * 10**6)
    alice.borrow("USDC", 100 * 10**6)
    assert alice.liquidation_price_usd_e8("WETH") is None  # the dollars alone are enough
    alice.set_collateral("USDC", False)
    assert alice.liquidation_price_usd_e8("USDC") is None
    assert alice.liquidation_price_usd_e8("WETH") is not None


def test_a_position_lists_every_reserve_with_its_values(borrower: AaveAccount) -> None:
    market = borrower.market
    give_and_supply(borrower, "USDC", 50 * 10**6)
    borrower.set_collateral("USDC", False)
    position = borrower.position()
    assert position.totals == borrower.data()
    assert position.emode == 0
    assert {line.symbol for line in position.assets} == {"WETH", "USDC"}
    provider = data_provider(market)
    for line in position.assets:
        user = provider.getUserReserveData(market.address_of(line.symbol), ALICE)
        assert (line.supplied, line.debt, line.used_as_collateral) == (
            user.supplied,
            user.stableDebt + user.variableDebt,
            user.collateral,
        )
        reserve = market.reserve(line.symbol)
        assert (line.decimals, line.price_usd_e8) == (reserve.decimals, reserve.price_usd_e8)
        assert line.liquidation_threshold_bps == reserve.configuration.liquidation_threshold_bps
        assert line.supplied_usd_e8 == line.supplied * line.price_usd_e8 // 10**line.decimals
        assert line.debt_usd_e8 == line.debt * line.price_usd_e8 // 10**line.decimals
        assert line.liquidation_price_usd_e8 == borrower.liquidation_price_usd_e8(line.symbol)
    weth, usdc = sorted(position.assets, key=lambda line: line.symbol, reverse=True)
    assert weth.supplied_usd_e8 == position.totals.collateral_usd_e8
    assert usdc.debt_usd_e8 == position.totals.debt_usd_e8


# -- liquidations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("receive_a_token", [False, True], ids=["asset", "aToken"])
@pytest.mark.parametrize(("percent", "share_bps"), [(100, 5_000), (94, 10_000)], ids=["half", "all"])
def test_a_liquidation_takes_bonus_and_fee_to_the_wei(
    borrower: AaveAccount, bob: AaveAccount, percent: int, share_bps: int, receive_a_token: bool
) -> None:
    market, fork = borrower.market, borrower.market.fork
    price = borrower.liquidation_price_usd_e8("WETH")
    assert price is not None
    move_price(market, "WETH", price * percent // 100)
    assert (borrower.data().health_factor_wad > 95 * WAD // 100) is (share_bps == 5_000)

    fork.deal("USDC", BOB, 10_000 * 10**6)
    owed, supplied = borrower.debt("USDC"), borrower.supplied("WETH")
    expected = seizure(borrower, "WETH", "USDC", owed)
    a_weth, treasury = market.a_token("WETH"), fork.address_of("AaveV3.Treasury")
    before = a_weth.balance_of(treasury)
    done = bob.liquidate(borrower, "WETH", "USDC", receive_a_token=receive_a_token)
    assert (done.covered, done.seized, done.protocol_fee) == expected
    assert expected.covered == percent_mul(owed, share_bps)
    assert expected.protocol_fee > 0
    assert bob.balance("USDC") == 10_000 * 10**6 - expected.covered
    if receive_a_token:
        assert abs(bob.supplied("WETH") - expected.seized) <= 1
    else:
        assert bob.balance("WETH") == expected.seized
    assert abs(a_weth.balance_of(treasury) - before - expected.protocol_fee) <= 1
    assert abs(borrower.supplied("WETH") - (supplied - expected.seized - expected.protocol_fee)) <= 2
    assert abs(borrower.debt("USDC") - (owed - expected.covered)) <= 1
    assert Erc20(fork, "USDC").allowance(BOB, market.pool.address) == 0


def test_a_liquidator_covers_what_it_says_or_can_pay(borrower: AaveAccount, bob: AaveAccount) -> None:
    market, fork = borrower.market, borrower.market.fork
    move_price(market, "WETH", borrower.liquidation_price_usd_e8("WETH") or 0)
    with fork.snapshot():
        fork.deal("USDC", BOB, 100 * 10**6)
        assert bob.liquidate(ALICE, "WETH", "USDC").covered == 100 * 10**6
    with fork.snapshot():
        fork.deal("USDC", BOB, 100 * 10**6)
        assert bob.liquidate(ALICE, "WETH", "USDC", 40 * 10**6).covered == 40 * 10**6
        assert bob.balance("USDC") == 60 * 10**6
    with pytest.raises(InsufficientBalance, match=r"has 0 USDC, but 750\.\d+ USDC are needed"):
        bob.liquidate(borrower, "WETH", "USDC")


def test_bad_debt_remains_when_collateral_does_not_reach(borrower: AaveAccount, bob: AaveAccount) -> None:
    market, fork = borrower.market, borrower.market.fork
    move_price(market, "WETH", market.price_usd_e8("WETH") // 4)
    fork.deal("USDC", BOB, 10_000 * 10**6)
    supplied, owed = borrower.supplied("WETH"), borrower.debt("USDC")
    expected = seizure(borrower, "WETH", "USDC", owed)
    done = bob.liquidate(borrower, "WETH", "USDC")
    assert (done.covered, done.seized, done.protocol_fee) == expected
    assert done.seized + done.protocol_fee == supplied
    assert borrower.supplied("WETH") <= 1  # what rounding the two parts apart may leave; it is collateral no longer
    assert 0 < borrower.debt("USDC") < owed
    assert abs(borrower.debt("USDC") - (owed - done.covered)) <= 1
    assert borrower.data()[:2] == (0, borrower.data().debt_usd_e8)
    assert borrower.health_factor == 0
    assert borrower.liquidation_price_usd_e8("WETH") is None
    with pytest.raises(CallReverted, match="46 COLLATERAL_CANNOT_BE_LIQUIDATED"):
        bob.liquidate(borrower, "WETH", "USDC")


def test_who_is_healthy_is_not_liquidated(borrower: AaveAccount, bob: AaveAccount) -> None:
    borrower.market.fork.deal("USDC", BOB, 10**9)
    with pytest.raises(CallReverted, match="45 HEALTH_FACTOR_NOT_BELOW_THRESHOLD") as caught:
        bob.liquidate(borrower, "WETH", "USDC")
    assert caught.value.hint == "its health factor has to fall below 1 first"


# -- modes, caps and states -------------------------------------------------------------------------------------------


def test_isolated_collateral_is_alone_and_has_a_ceiling(market: AaveV3, alice: AaveAccount, bob: AaveAccount) -> None:
    isolated, lent = an_isolated_asset(market), an_asset_for_isolation(market)
    settings = market.reserve(isolated).configuration
    ceiling = settings.debt_ceiling_usd_e2
    assert ceiling is not None
    give_and_supply(alice, isolated, whole(market, isolated, 1_000))
    if not alice.data().collateral_usd_e8:
        alice.set_collateral(isolated)
    with pytest.raises(CallReverted, match="60 ASSET_NOT_BORROWABLE_IN_ISOLATION"):
        alice.borrow("WETH", 1)

    amount = whole(market, lent)
    before = market.reserve(isolated).isolated_debt_usd_e2
    alice.borrow(lent, amount)
    # Counted in cents of the amount, whatever its price.
    assert market.reserve(isolated).isolated_debt_usd_e2 == before + 100
    give_and_supply(alice, "WETH", WAD)
    with pytest.raises(CallReverted, match="62 USER_IN_ISOLATION_MODE_OR_LTV_ZERO"):
        alice.set_collateral("WETH")

    govern(market, "setDebtCeiling(address,uint256)", market.address_of(isolated), 100)
    with pytest.raises(CallReverted, match="53 DEBT_CEILING_EXCEEDED"):
        alice.borrow(lent, amount)

    give_and_supply(bob, "WETH", WAD)
    give_and_supply(bob, isolated, whole(market, isolated))
    with pytest.raises(CallReverted, match="62"):
        bob.set_collateral(isolated)


def test_an_emode_lifts_what_can_be_borrowed_inside_it(market: AaveV3, alice: AaveAccount, bob: AaveAccount) -> None:
    category, other = an_emode(market, "WETH")
    mode = market.emode(category)
    assert mode in market.emodes() or category == 200
    assert {"WETH", other} <= set(mode.assets)
    give_and_supply(alice, "WETH", WAD)
    plain = alice.data()
    alice.set_emode(category)
    assert alice.emode == category
    assert alice.data().ltv_bps == mode.ltv_bps > plain.ltv_bps
    assert alice.data().liquidation_threshold_bps == mode.liquidation_threshold_bps
    with pytest.raises(CallReverted, match="58 INCONSISTENT_EMODE_CATEGORY"):
        alice.borrow("USDC", 10**6)

    price, unit = market.price_usd_e8(other), whole(market, other)
    within = (alice.data().available_usd_e8 - 10**6) * unit // price
    assert within * price // unit > plain.available_usd_e8
    alice.borrow(other, within)
    assert alice.data().health_factor_wad == health_factor_wad(alice)
    with pytest.raises(CallReverted, match="35 HEALTH_FACTOR_LOWER_THAN_LIQUIDATION_THRESHOLD") as caught:
        alice.set_emode(0)
    assert caught.value.hint == "repay some debt or add collateral first"

    line = next(line for line in alice.position().assets if line.symbol == "WETH")
    assert line.liquidation_threshold_bps == mode.liquidation_threshold_bps
    move_price(market, other, price * 105 // 100)
    assert alice.health_factor < 1
    market.fork.deal(other, BOB, within)
    expected = seizure(alice, "WETH", other, within)
    done = bob.liquidate(alice, "WETH", other)
    assert (done.covered, done.seized, done.protocol_fee) == expected


def test_an_emode_with_a_price_of_its_own_values_collateral_by_it(market: AaveV3, alice: AaveAccount) -> None:
    """V3.0 lets a category have one price for all its assets; then the asset's own price is irrelevant."""
    source, fork = list_asset(market, "PEG", supply_cap=0, borrow_cap=0), market.fork
    category = (201, 9_000, 9_300, 10_100, fork.address_of(source), "one price")
    govern(market, "setEModeCategory(uint8,uint16,uint16,uint16,address,string)", *category)
    govern(market, "setAssetEModeCategory(address,uint8)", market.address_of("WETH"), 201)
    give_and_supply(alice, "WETH", 100 * WAD)
    alice.set_emode(201)
    assert market.emode(201).price_source == fork.address_of(source)
    assert market.price_usd_e8(source) == 10 * 10**8 != market.price_usd_e8("WETH")
    alice.borrow("WETH", WAD)
    position = alice.position()
    (line,) = position.assets
    assert line.price_usd_e8 == market.price_usd_e8(source)
    assert (line.supplied_usd_e8, line.debt_usd_e8) == position.totals[:2] == (1_000 * 10**8, 10 * 10**8)
    assert line.liquidation_threshold_bps == position.totals.liquidation_threshold_bps == 9_300
    assert line.liquidation_price_usd_e8 is None is alice.liquidation_price_usd_e8("WETH")


def test_debt_at_a_stable_rate_is_debt(borrower: AaveAccount) -> None:
    """No reserve of the tables offers it; if one does, debt at either rate counts."""
    market, amount = borrower.market, 50 * 10**6
    govern(market, "setReserveStableRateBorrowing(address,bool)", market.address_of("USDC"), True)
    variable, health = borrower.debt("USDC"), borrower.health_factor
    market.pool.borrow(market.address_of("USDC"), amount, 1, 0, ALICE, sender=ALICE)
    user = data_provider(market).getUserReserveData(market.address_of("USDC"), ALICE)
    assert (user.stableDebt, user.variableDebt) == (amount, variable)
    position = borrower.position()
    (line,) = (line for line in position.assets if line.symbol == "USDC")
    assert line.debt == variable + amount
    assert line.debt_usd_e8 == pytest.approx(position.totals.debt_usd_e8, abs=2)
    assert borrower.health_factor < health
    move_price(market, "WETH", edge := borrower.liquidation_price_usd_e8("WETH") or 0)
    assert borrower.health_factor < 1
    move_price(market, "WETH", edge + 1)
    assert borrower.health_factor >= 1


def test_an_emode_that_is_not_there_is_told(market: AaveV3, alice: AaveAccount) -> None:
    with pytest.raises(UnknownName, match="unknown eMode category 77 of Aave V3"):
        market.emode(77)
    with pytest.raises(CallReverted, match="58 INCONSISTENT_EMODE_CATEGORY"):
        alice.set_emode(77)


def test_the_supply_cap_holds_to_the_last_unit(market: AaveV3, alice: AaveAccount) -> None:
    weth = market.reserve("WETH")
    assert weth.configuration.supply_cap is not None
    room = weth.configuration.supply_cap - weth.supplied
    market.fork.deal("WETH", ALICE, room + 1)
    before = market.fork.digest()
    with pytest.raises(CallReverted, match="51 SUPPLY_CAP_EXCEEDED") as caught:
        alice.supply("WETH", room + 1)
    left = f"{format_units(room // 10**12 * 10**12, 18)} WETH"
    assert caught.value.hint == f"there is room for {left} now; supply less or another asset"
    assert market.fork.digest() == before
    alice.supply("WETH", room)
    assert market.reserve("WETH").supplied == weth.configuration.supply_cap


def test_the_borrow_cap_holds_to_the_last_unit(market: AaveV3, alice: AaveAccount) -> None:
    usdc = market.reserve("USDC")
    govern(market, "setBorrowCap(address,uint256)", usdc.address, usdc.borrowed // 10**6 + 100)
    cap = market.reserve("USDC").configuration.borrow_cap
    assert cap is not None
    give_and_supply(alice, "WETH", WAD)
    with pytest.raises(CallReverted, match="50 BORROW_CAP_EXCEEDED"):
        alice.borrow("USDC", cap - usdc.borrowed + 1)
    alice.borrow("USDC", cap - usdc.borrowed)
    assert market.reserve("USDC").borrowed == cap


def test_a_frozen_reserve_lets_out_and_not_in(borrower: AaveAccount, bob: AaveAccount) -> None:
    market = borrower.market
    for asset in ("WETH", "USDC"):
        govern(market, "setReserveFreeze(address,bool)", market.address_of(asset), True)
        assert market.reserve(asset).configuration.frozen
    market.fork.deal("WETH", ALICE, WAD)
    with pytest.raises(CallReverted, match="28 RESERVE_FROZEN"):
        borrower.supply("WETH", WAD)
    with pytest.raises(CallReverted, match="28 RESERVE_FROZEN"):
        borrower.borrow("USDC", 1)
    with market.fork.snapshot():
        move_price(market, "WETH", borrower.liquidation_price_usd_e8("WETH") or 0)
        market.fork.deal("USDC", BOB, 10**9)
        assert bob.liquidate(borrower, "WETH", "USDC").covered > 0
    market.fork.deal("USDC", ALICE, borrower.debt("USDC"))
    borrower.repay("USDC")
    borrower.withdraw("WETH")
    assert borrower.position().assets == ()


def test_a_siloed_asset_is_the_only_debt(market: AaveV3, alice: AaveAccount, bob: AaveAccount) -> None:
    siloed = list_asset(market, "SILO", siloed=True, supply_cap=0, borrow_cap=0, ltv_bps=5_000)
    give_and_supply(bob, siloed, 100 * WAD)
    give_and_supply(alice, "WETH", WAD)
    alice.borrow(siloed, WAD)
    assert market.reserve(siloed).configuration.siloed
    with pytest.raises(CallReverted, match="89 SILOED_BORROWING_VIOLATION"):
        alice.borrow("USDC", 1)


# -- flash loans ------------------------------------------------------------------------------------------------------


def test_a_flash_loan_costs_the_premium_and_no_more(market: AaveV3, bob: AaveAccount) -> None:
    before, amount = market.reserve("USDC"), 100_000 * 10**6
    premium = percent_mul(amount, market.flash_loan_premiums.total_bps)
    assert premium > 0
    market.fork.deal("USDC", BOB, premium + 5)
    loan = bob.flash_loan("USDC", amount)
    assert loan.premium == premium
    assert bob.balance("USDC") == 5
    assert market.reserve("USDC").available == before.available + premium
    assert Erc20(market.fork, "USDC").allowance(BOB, flash_borrower(market.fork)) == 0
    loan = bob.flash_loan("USDC", 1_000)  # a loan so small that its premium rounds to nothing or one
    assert loan.premium <= 1


def test_a_flash_loan_works_while_it_is_there(market: AaveV3, bob: AaveAccount) -> None:
    """The borrowing contract makes the calls: it supplies the loan, withdraws it and sends leftover tokens."""
    fork, pool, weth = market.fork, market.pool, market.fork.address_of("WETH")
    place, amount = flash_borrower(fork), 10 * WAD
    fork.deal("WETH", BOB, WAD)
    fork.deal("USDC", place, 7)
    loan = bob.flash_loan(
        "WETH",
        amount,
        [
            ("WETH", Erc20(fork, "WETH").contract.approve.encode(pool.address, amount)),
            (pool.address, pool.supply.encode(weth, amount, place, 0)),
            (pool.address, pool.withdraw.encode(weth, EVERYTHING, place)),
        ],
        sweep=["USDC"],
    )
    assert bob.balance("WETH") == WAD - loan.premium
    assert bob.balance("USDC") == 7
    assert market.account(place).supplied("WETH") == 0
    assert [Erc20(fork, token).balance_of(place) for token in ("WETH", "USDC")] == [0, 0]


def test_a_flash_loan_that_cannot_be_paid_back_never_happened(market: AaveV3, bob: AaveAccount) -> None:
    fork = market.fork
    before = fork.digest()
    with pytest.raises(InsufficientBalance, match="has 0 USDC, but 50 USDC are needed"):
        bob.flash_loan("USDC", 100_000 * 10**6)
    away = Erc20(fork, "USDC").contract.transfer.encode(CAROL, 10**6)
    with pytest.raises(
        CallReverted, match=r"the calls left 99,999 USDC to pay back 100,000 USDC .* 51 USDC are missing"
    ):
        bob.flash_loan("USDC", 100_000 * 10**6, [("USDC", away)])
    with pytest.raises(BadArgument, match="up to 16 calls"):
        bob.flash_loan("USDC", 10**6, [("USDC", away)] * 17)
    assert fork.digest() == before
    govern(market, "setReserveFlashLoaning(address,bool)", market.address_of("USDC"), False)
    fork.deal("USDC", BOB, 10**9)
    with pytest.raises(CallReverted, match="91 FLASHLOAN_DISABLED"):
        bob.flash_loan("USDC", 10**6)


# -- what is refused --------------------------------------------------------------------------------------------------


def test_what_fails_leaves_everything_as_it_was(borrower: AaveAccount) -> None:
    market, fork = borrower.market, borrower.market.fork
    fork.deal("WETH", ALICE, WAD)
    before = fork.digest()
    with pytest.raises(CallReverted, match="36 COLLATERAL_CANNOT_COVER_NEW_BORROW: the debt would exceed") as caught:
        borrower.borrow("USDC", 100_000 * 10**6)
    assert str(caught.value.hint).endswith("USDC more can be borrowed now; borrow less or supply more")
    with pytest.raises(CallReverted, match="35 HEALTH_FACTOR_LOWER_THAN_LIQUIDATION_THRESHOLD: the account's health"):
        borrower.withdraw("WETH")
    with pytest.raises(CallReverted, match="43 UNDERLYING_BALANCE_ZERO"):
        borrower.set_collateral("USDC")
    with pytest.raises(CallReverted, match="32 NOT_ENOUGH_AVAILABLE_USER_BALANCE"):
        borrower.withdraw("WETH", 5 * WAD)
    with pytest.raises(CallReverted, match="45 HEALTH_FACTOR_NOT_BELOW_THRESHOLD"):
        market.account(BOB).liquidate(borrower, "WETH", "WETH")
    assert fork.digest() == before


def test_too_little_of_a_token_is_told_with_both_amounts(borrower: AaveAccount) -> None:
    fork, who = borrower.market.fork, borrower.market.fork.name(ALICE)
    fork.deal("USDC", ALICE, 1_250_000)
    before = fork.digest()
    with pytest.raises(InsufficientBalance) as caught:
        borrower.repay("USDC", 2_000_000)
    assert str(caught.value) == f"{who} has 1.25 USDC, but 2 USDC are needed"
    with pytest.raises(InsufficientBalance, match=r"has 0 WETH, but 2 WETH are needed"):
        borrower.supply("WETH", 2 * WAD)
    assert fork.digest() == before


def test_an_unknown_asset_offers_the_near_ones_of_this_market(market: AaveV3, alice: AaveAccount) -> None:
    with pytest.raises(UnknownName, match="unknown asset of Aave V3 'WETHH'") as caught:
        alice.supply("WETHH", 1)
    assert "did you mean 'WETH'" in str(caught.value.hint)
    for stranger in ("AaveV3.Pool", "AaveV3.aUSDC", BOB):
        with pytest.raises(UnknownName, match="unknown asset of Aave V3") as caught:
            market.reserve(stranger)
        assert "there are: " in str(caught.value.hint)
        assert "AaveV3." not in str(caught.value.hint)


def test_an_asset_without_a_label_is_found_by_the_symbol_it_gives_itself(market: AaveV3) -> None:
    usdc = market.fork.labels.pop("USDC")
    assert market.address_of("USDC") == market.address_of(usdc)
    assert market.reserve("USDC").symbol == "USDC"


def test_a_market_that_is_not_there_is_refused(fork: Fork) -> None:
    fork.labels["AaveV3.Pool"] = checksum(CAROL)
    with pytest.raises(NoCode, match=r"no contract stands at AaveV3\.Pool"):
        AaveV3(fork)
    del fork.labels["AaveV3.Pool"]
    with pytest.raises(UnknownName, match=f"no Aave V3 market is known on chain {fork.chain_id}"):
        AaveV3(fork)


def test_arguments_are_checked_before_anything_is_sent(market: AaveV3, alice: AaveAccount) -> None:
    with pytest.raises(BadInteger, match="not an integer"):
        alice.supply("WETH", 1.5)  # type: ignore[arg-type]
    with pytest.raises(BadInteger):
        alice.borrow("USDC", -1)
    with pytest.raises(BadAddress):
        market.account("0x1234")
    with pytest.raises(UnknownName):
        market.account("nobody")
