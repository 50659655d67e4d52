"""USD prices of 13 January 2024 for assets without a feed in Ethereum's table. Assumed, to the precision given."""

from __future__ import annotations

from decimal import Decimal

ASSUMED_USD = {
    "ARB/USD": Decimal("2.05"),
    "AVAX/USD": Decimal("36"),
    "DPI/USD": Decimal("105"),
    "EUR/USD": Decimal("1.095"),
    "GHST/USD": Decimal("1"),
    "MATIC/USD": Decimal("0.86"),
    "MIMATIC/USD": Decimal("0.74905302"),  # as on 4 November 2023
    "OP/USD": Decimal("3.7"),
    "SUSD/USD": Decimal("1"),
    "SUSHI/USD": Decimal("1.17"),
}
