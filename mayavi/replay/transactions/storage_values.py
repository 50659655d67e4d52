"""Values of storage slots: amounts as decimal numbers, everything else in hex."""

from __future__ import annotations

from collections.abc import Callable

LARGEST_AMOUNT = 2**128
"""From here on a word is no amount: it holds flags or several values."""
UNLIMITED = 2**256 - 1
_TOKEN_AMOUNTS = ("balance of ", "allowance of ", "balanceOf[", "allowance[", "totalSupply")
_NUMBERS = ("balances[", "liquidity")
_RESERVE_BITS = 112


def slot_value(name: str | None, value: object, amount: Callable[[int], str]) -> str:
    """Format the word of a slot by the slot's name; `amount` formats amounts of the contract's own token."""
    if value is None:
        return "not known"
    if not isinstance(value, int):
        return str(value)
    name = name or ""
    if name == "reserves":
        first, second = (value >> shift & (1 << _RESERVE_BITS) - 1 for shift in (0, _RESERVE_BITS))
        return f"{first:,} and {second:,}"
    if name.startswith(_TOKEN_AMOUNTS):
        if value == UNLIMITED:
            return "unlimited"
        if name.startswith("allowance") and UNLIMITED - value < LARGEST_AMOUNT:
            return f"unlimited less {amount(UNLIMITED - value)}"
        if value < LARGEST_AMOUNT:
            return amount(value)
    if name.startswith(_NUMBERS) and value < LARGEST_AMOUNT:
        return f"{value:,}"
    return f"{value:#x}"
