"""Storage slots of a Uniswap V3 pool."""

from __future__ import annotations

SLOT0, LIQUIDITY = 0, 4
"""The slot whose low bits hold the square root price, and the slot of the liquidity that trades at it."""
ROOT_BITS, LIQUIDITY_BITS = 160, 128
