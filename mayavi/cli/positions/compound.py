"""Position of an account on a market of Compound V3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.cli.positions.position import Line, MarketPosition, Protocol

if TYPE_CHECKING:
    from mayavi.protocols.compound.account import CompoundV3Account


def compound_position(account: CompoundV3Account) -> MarketPosition:
    """Position on one Comet market. Supplied base tokens do not count as collateral."""
    found = account.position()
    lines = tuple(
        Line(
            symbol=each.symbol,
            decimals=each.decimals,
            supplied=each.supplied,
            supplied_value_e8=0 if each.debt else each.value_e8,
            collateral=each.liquidate_collateral_factor_wad > 0,
            debt=each.debt,
            debt_value_e8=each.value_e8 if each.debt else 0,
            price_e8=each.price_e8,
            liquidation_threshold_bps=each.liquidate_collateral_factor_wad // 10**14,
            liquidation_price_e8=each.liquidation_price_e8,
        )
        for each in found.assets
    )
    totals = found.totals
    return MarketPosition(
        protocol=Protocol.COMPOUND,
        market=f"Compound V3 {found.market}",
        quote=found.quote,
        lines=lines,
        collateral_value_e8=totals.collateral_value_e8,
        debt_value_e8=totals.debt_value_e8,
        borrowable_value_e8=max(0, totals.borrow_limit_e8 - totals.debt_value_e8),
        health_factor_wad=totals.liquidation_ratio_wad,
        liquidatable=totals.liquidatable,
    )
