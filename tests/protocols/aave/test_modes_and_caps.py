"""Isolation, e-modes, caps, frozen and siloed reserves, on every chain's replica."""

from __future__ import annotations

import pytest

from mayavi import format_units
from mayavi.errors import (
    CallReverted,
    UnknownName,
)
from mayavi.protocols import AaveAccount, AaveV3
from tests.protocols.aave.reference import (
    ALICE,
    BOB,
    WAD,
    an_asset_for_isolation,
    an_emode,
    an_isolated_asset,
    data_provider,
    give_and_supply,
    govern,
    health_factor_wad,
    later,
    list_asset,
    move_price,
    named,
    only_before,
    seizure,
    whole,
)


def test_isolated_collateral_is_alone_and_has_a_ceiling(market: AaveV3, alice: AaveAccount, bob: AaveAccount) -> None:
    only_before(market, "no open reserve of this world is isolated")
    isolated, lent = an_isolated_asset(market), an_asset_for_isolation(market)
    settings = market.reserve(isolated).configuration
    ceiling = settings.debt_ceiling_usd_e2
    assert ceiling is not None
    give_and_supply(alice, isolated, whole(market, isolated, 1_000))
    if not alice.data().collateral_usd_e8:
        alice.set_collateral(isolated)
    with pytest.raises(CallReverted, match=named("60 ASSET_NOT_BORROWABLE_IN_ISOLATION")):
        alice.borrow("WETH", 1)

    amount = whole(market, lent)
    before = market.reserve(isolated).isolated_debt_usd_e2
    alice.borrow(lent, amount)
    # Counted in cents of the amount, whatever its price.
    assert market.reserve(isolated).isolated_debt_usd_e2 == before + 100
    give_and_supply(alice, "WETH", WAD)
    with pytest.raises(CallReverted, match=named("62 USER_IN_ISOLATION_MODE_OR_LTV_ZERO")):
        alice.set_collateral("WETH")

    govern(market, "setDebtCeiling(address,uint256)", market.address_of(isolated), 100)
    with pytest.raises(CallReverted, match=named("53 DEBT_CEILING_EXCEEDED")):
        alice.borrow(lent, amount)

    give_and_supply(bob, "WETH", WAD)
    give_and_supply(bob, isolated, whole(market, isolated))
    with pytest.raises(CallReverted, match="62"):
        bob.set_collateral(isolated)


def test_an_emode_lifts_what_can_be_borrowed_inside_it(market: AaveV3, alice: AaveAccount, bob: AaveAccount) -> None:
    collateral = "wstETH" if later(market) else "WETH"  # since V3.2 a mode lists what it lends; here that is WETH
    category, other = an_emode(market, collateral)
    mode = market.emode(category)
    assert mode in market.emodes() or category == 200
    assert collateral in mode.assets
    assert other in mode.borrowable
    give_and_supply(alice, collateral, WAD)
    plain = alice.data()
    alice.set_emode(category)
    assert alice.emode == category
    assert alice.data().ltv_bps == mode.ltv_bps > plain.ltv_bps
    assert alice.data().liquidation_threshold_bps == mode.liquidation_threshold_bps
    refused = "100 NOT_BORROWABLE_IN_EMODE" if later(market) else "58 INCONSISTENT_EMODE_CATEGORY"
    with pytest.raises(CallReverted, match=named(refused)):
        alice.borrow("USDC", 10**6)

    price, unit = market.price_usd_e8(other), whole(market, other)
    within = (alice.data().available_usd_e8 - 10**6) * unit // price
    assert within * price // unit > plain.available_usd_e8
    alice.borrow(other, within)
    assert alice.data().health_factor_wad == health_factor_wad(alice)
    with pytest.raises(CallReverted, match=named("35 HEALTH_FACTOR_LOWER_THAN_LIQUIDATION_THRESHOLD")) as caught:
        alice.set_emode(0)
    assert caught.value.hint == "repay some debt or add collateral first"

    line = next(line for line in alice.position().assets if line.symbol == collateral)
    assert line.liquidation_threshold_bps == mode.liquidation_threshold_bps
    only_before(market, "the price of wstETH follows that of WETH, so no price of the debt alone can rise")
    move_price(market, other, price * 105 // 100)
    assert alice.health_factor < 1
    market.fork.deal(other, BOB, within)
    expected = seizure(alice, "WETH", other, within)
    done = bob.liquidate(alice, "WETH", other)
    assert (done.covered, done.seized, done.protocol_fee) == expected


def test_an_emode_with_a_price_of_its_own_values_collateral_by_it(market: AaveV3, alice: AaveAccount) -> None:
    """V3.0 lets a category have one price for all its assets; then the asset's own price is irrelevant."""
    only_before(market, "a mode has no price source since V3.2")
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
    only_before(market, "there is no stable rate since V3.2")
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
    with pytest.raises(CallReverted, match=named("58 INCONSISTENT_EMODE_CATEGORY")):
        alice.set_emode(77)


def test_the_supply_cap_holds_to_the_last_unit(market: AaveV3, alice: AaveAccount) -> None:
    weth = market.reserve("WETH")
    assert weth.configuration.supply_cap is not None
    room = weth.configuration.supply_cap - weth.supplied
    market.fork.deal("WETH", ALICE, room + 1)
    before = market.fork.digest()
    with pytest.raises(CallReverted, match=named("51 SUPPLY_CAP_EXCEEDED")) as caught:
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
    with pytest.raises(CallReverted, match=named("50 BORROW_CAP_EXCEEDED")):
        alice.borrow("USDC", cap - usdc.borrowed + 1)
    alice.borrow("USDC", cap - usdc.borrowed)
    assert market.reserve("USDC").borrowed == cap


def test_a_frozen_reserve_lets_out_and_not_in(borrower: AaveAccount, bob: AaveAccount) -> None:
    market = borrower.market
    for asset in ("WETH", "USDC"):
        govern(market, "setReserveFreeze(address,bool)", market.address_of(asset), True)
        assert market.reserve(asset).configuration.frozen
    market.fork.deal("WETH", ALICE, WAD)
    with pytest.raises(CallReverted, match=named("28 RESERVE_FROZEN")):
        borrower.supply("WETH", WAD)
    with pytest.raises(CallReverted, match=named("28 RESERVE_FROZEN")):
        borrower.borrow("USDC", 1)
    with market.fork.snapshot():
        move_price(market, "WETH", borrower.liquidation_price_usd_e8("WETH") or 0)
        market.fork.deal("USDC", BOB, 2 * 10**9)
        assert bob.liquidate(borrower, "WETH", "USDC").covered > 0
    market.fork.deal("USDC", ALICE, borrower.debt("USDC"))
    borrower.repay("USDC")
    borrower.withdraw("WETH")
    assert borrower.position().assets == ()


def test_a_siloed_asset_is_the_only_debt(market: AaveV3, alice: AaveAccount, bob: AaveAccount) -> None:
    only_before(market, "listing a reserve takes other arguments; tests/protocols/aave/market_v36.py lists some")
    siloed = list_asset(market, "SILO", siloed=True, supply_cap=0, borrow_cap=0, ltv_bps=5_000)
    give_and_supply(bob, siloed, 100 * WAD)
    give_and_supply(alice, "WETH", WAD)
    alice.borrow(siloed, WAD)
    assert market.reserve(siloed).configuration.siloed
    with pytest.raises(CallReverted, match=named("89 SILOED_BORROWING_VIOLATION")):
        alice.borrow("USDC", 1)
