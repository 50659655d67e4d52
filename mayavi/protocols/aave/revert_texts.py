"""Facts about accounts and reserves, as error messages of Aave tell them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mayavi.evm.units import format_units
from mayavi.protocols.aave.reserve import Configuration, EMode, Reserve
from mayavi.protocols.tokens import Erc20

if TYPE_CHECKING:
    from mayavi.protocols.aave.account import AaveAccount
    from mayavi.protocols.aave.market import AaveV3

_COLLATERAL_FLAGS = int("10" * 128, 2)
"""Every second bit of an account's configuration, by reserve: whether it is used as collateral."""

Cause = tuple[str, str | None]
"""Cause of a revert, and a hint what to do about it."""


def symbol_of(market: AaveV3, address: bytes) -> str:
    """Return the symbol of a token."""
    return Erc20(market.fork, address).symbol


def configuration_of(market: AaveV3, address: bytes) -> Configuration:
    """Return the parameters of a reserve."""
    return market.configuration(market.reserve_data(address))


def collateral_of(account: AaveAccount) -> dict[str, Configuration]:
    """Return the account's enabled collateral, by symbol."""
    market = account.market
    flags: int = market.pool.getUserConfiguration(account.address)
    if not flags & _COLLATERAL_FLAGS:
        return {}
    reserves = [(address, market.reserve_data(address)) for address in market.pool.getReservesList()]
    used = [(address, data) for address, data in reserves if flags >> 2 * data.id + 1 & 1]
    return {symbol_of(market, address): market.configuration(data) for address, data in used}


def idle_supplies(account: AaveAccount) -> dict[str, Configuration]:
    """Return supplied assets that could be collateral but are not enabled."""
    market, used = account.market, collateral_of(account)
    own = {at: configuration_of(market, at) for at in market.pool.getReservesList() if account.supplied(at)}
    idle = {symbol_of(market, at): each for at, each in own.items() if each.liquidation_threshold_bps and each.ltv_bps}
    alone = any(each.isolated for each in used.values())
    return {
        symbol: each
        for symbol, each in idle.items()
        if symbol not in used and not alone and not (each.isolated and used)
    }


def owed_assets(account: AaveAccount) -> list[str]:
    """Return the symbols of what the account owes."""
    market = account.market
    flags: int = market.pool.getUserConfiguration(account.address)
    reserves = [(address, market.reserve_data(address).id) for address in market.pool.getReservesList()]
    return [symbol_of(market, address) for address, number in reserves if flags >> 2 * number & 1]


def mode_text(mode: EMode) -> str:
    """Format an efficiency mode."""
    return f"{mode.id} ({mode.label})"


def amount_text(reserve: Reserve, amount: int) -> str:
    """Format an amount, rounded down to six decimals."""
    unit = int(10 ** max(0, reserve.decimals - 6))
    return f"{format_units(amount // unit * unit, reserve.decimals)} {reserve.symbol}"


def and_list(names: Sequence[str] | dict[str, Any]) -> str:
    """Join `names`, the last with "and"."""
    return " and ".join(filter(None, (", ".join([*names][:-1]), [*names][-1])))


def or_list(names: Sequence[str]) -> str:
    """Join `names`, the last with "or"."""
    return and_list(names).replace(" and ", " or ")
