"""Selectors of the two ERC-20 views that `Fork.deal` reads.

Contract knowledge belongs to `mayavi.protocols` and `mayavi.worlds`. ERC-20 is the exception: it is a standard of the
EVM itself, not of one protocol, and `Fork.deal` works for any token.
"""

from __future__ import annotations

from typing import Final

BALANCE_OF: Final = bytes.fromhex("70a08231")
"""`balanceOf(address)`"""
TOTAL_SUPPLY: Final = bytes.fromhex("18160ddd")
"""`totalSupply()`"""
