"""Health factor shared by the lending protocols."""

from __future__ import annotations

NO_DEBT = 2**256 - 1
"""Health factor of an account without debt, in wad: the largest uint256."""
