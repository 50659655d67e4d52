"""Collateral assets of a Compound V3 market."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mayavi.evm.address import AddressLike

Accounts = AddressLike | Iterable[AddressLike]
"""One account or several: labels, addresses, or account objects of this fork."""


class CollateralAsset(NamedTuple):
    """Collateral asset of the market. `supplied` is the total of all accounts."""

    symbol: str
    address: bytes
    price_feed: bytes
    decimals: int
    borrow_collateral_factor_wad: int
    """Share of its value that can be borrowed."""
    liquidate_collateral_factor_wad: int
    """Share of its value that debt may reach before the account can be absorbed."""
    liquidation_factor_wad: int
    """Share of its value credited to an absorbed account."""
    supply_cap: int
    supplied: int

    def value_e8(self, amount: int, price_e8: int) -> int:
        """Return the value of `amount`, rounded as the contract does."""
        scale: int = 10**self.decimals
        return amount * price_e8 // scale
