"""Absorbed accounts and collateral for sale, on every replica and on mainnet's bytecode."""

from __future__ import annotations

import pytest

from mayavi.errors import (
    CallReverted,
)
from mayavi.evm.units import WAD
from mayavi.protocols import CompoundV3, CompoundV3Account, Erc20
from mayavi.worlds.deploy.deployment import MARKET
from tests.protocols.compound.positions import ALICE, BOB, absorbed, indebted
from tests.protocols.compound.worlds import set_price


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
