"""What a position on a lending market is, whatever the protocol."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Protocol(StrEnum):
    """Supported lending protocols."""

    AAVE = "aave"
    SPARK = "spark"
    COMPOUND = "compound"
    MORPHO = "morpho"


@dataclass(frozen=True, slots=True)
class Line:
    """One asset of a position. Values and prices have eight decimals, in the market's `quote` unit."""

    symbol: str
    decimals: int
    supplied: int
    supplied_value_e8: int
    collateral: bool
    debt: int
    debt_value_e8: int
    price_e8: int
    liquidation_threshold_bps: int
    liquidation_price_e8: int | None


@dataclass(frozen=True, slots=True)
class MarketPosition:
    """Position of an account on one market."""

    protocol: Protocol
    market: str
    quote: str
    lines: tuple[Line, ...]
    collateral_value_e8: int
    debt_value_e8: int
    borrowable_value_e8: int
    health_factor_wad: int
    liquidatable: bool
