"""What lending protocols say of an account that owes nothing."""

from __future__ import annotations

NO_DEBT = 2**256 - 1
"""The health factor of an account without debt, in wad: the largest integer there is."""
