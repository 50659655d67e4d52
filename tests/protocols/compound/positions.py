"""Accounts of a Compound market in the state a test begins with."""

from __future__ import annotations

from mayavi.protocols import CompoundV3, CompoundV3Account
from mayavi.protocols.compound.collateral import CollateralAsset
from tests.protocols.compound.worlds import set_price

ALICE = bytes.fromhex("a11ce00000000000000000000000000000000001")
BOB = bytes.fromhex("b0b0000000000000000000000000000000000002")


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
