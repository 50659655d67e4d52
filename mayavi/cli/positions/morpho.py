"""Position of an account on a market of Morpho."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mayavi.cli.positions.position import Line, MarketPosition, Protocol

if TYPE_CHECKING:
    from mayavi.protocols.morpho.account import MorphoAccount


def morpho_position(account: MorphoAccount) -> MarketPosition:
    """Position on one Morpho market, in units of the loan token. What the account lends is no collateral."""
    market, data = account.market, account.data()
    value, loan, collateral = market.value_e8, market.loan, market.collateral
    limit, threshold = account.liquidation_price_e36(), market.lltv_wad // 10**14
    lines = []
    if data.collateral:
        worth, edge = value(data.collateral_value), None if limit is None else market.price_e8(limit)
        line = Line(collateral.symbol, collateral.decimals, data.collateral, worth, True, 0, 0, 0, threshold, edge)
        lines.append(replace(line, price_e8=market.price_e8()))
    if data.supplied or data.debt:
        amounts = data.supplied, value(data.supplied), False, data.debt, value(data.debt)
        lines.append(Line(loan.symbol, loan.decimals, *amounts, 10**8, 0, None))
    return MarketPosition(
        protocol=Protocol.MORPHO,
        market=f"Morpho {market.name}",
        quote=loan.symbol,
        lines=tuple(lines),
        collateral_value_e8=value(data.collateral_value),
        debt_value_e8=value(data.debt),
        borrowable_value_e8=value(max(0, data.debt_limit - data.debt)),
        health_factor_wad=data.health_factor_wad,
        liquidatable=data.liquidatable,
    )
