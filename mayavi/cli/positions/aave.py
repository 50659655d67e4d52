"""Position of an account on Aave or SparkLend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.cli.positions.position import Line, MarketPosition, Protocol

if TYPE_CHECKING:
    from mayavi.protocols.aave.account import AaveAccount


def aave_position(protocol: Protocol, account: AaveAccount) -> MarketPosition:
    """Position on Aave or SparkLend."""
    found = account.position()
    lines = tuple(
        Line(
            symbol=each.symbol,
            decimals=each.decimals,
            supplied=each.supplied,
            supplied_value_e8=each.supplied_usd_e8,
            collateral=each.used_as_collateral,
            debt=each.debt,
            debt_value_e8=each.debt_usd_e8,
            price_e8=each.price_usd_e8,
            liquidation_threshold_bps=each.liquidation_threshold_bps,
            liquidation_price_e8=each.liquidation_price_usd_e8,
        )
        for each in found.assets
    )
    totals = found.totals
    return MarketPosition(
        protocol=protocol,
        market=account.market.title,
        quote="USD",
        lines=lines,
        collateral_value_e8=totals.collateral_usd_e8,
        debt_value_e8=totals.debt_usd_e8,
        borrowable_value_e8=totals.available_usd_e8,
        health_factor_wad=totals.health_factor_wad,
        liquidatable=totals.health_factor_wad < 10**18,
    )
