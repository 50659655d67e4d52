"""Changes of storage slots as text: fields of packed words, amounts, and hex for everything else."""

from __future__ import annotations

from collections.abc import Callable

from mayavi.protocols.storage.packed_word import Field, Word, show_field, unpack

LARGEST_AMOUNT = 2**128
"""From here on a word is not an amount: it holds flags or several values."""
UNLIMITED = 2**256 - 1
_TOKEN_AMOUNTS = ("balance of ", "allowance of ", "balanceOf[", "allowance[", "totalSupply")


def slot_change(
    name: str | None, word: Word | None, before: object, after: object, amount: Callable[[int], str]
) -> str:
    """Format a change of a slot: the fields that differ where its word is known, else both values."""
    changed = field_changes(word, before, after)
    if changed:
        fields = {each.name: each for each in word or ()}
        shown = {key: _field_change(fields[key], *values) for key, values in changed.items()}
        return ", ".join(text if len(fields) == 1 else f"{key} {text}" for key, text in shown.items())
    return f"{slot_value(name, before, amount)} → {slot_value(name, after, amount)}"


def _field_change(field: Field, old: int, new: int) -> str:
    before, after = show_field(field, old), show_field(field, new)
    # A change below the digits of a fixed-point number is shown by the integers behind it.
    return f"{before} → {after}" if before != after else f"{old:,} → {new:,}"


def field_changes(word: Word | None, before: object, after: object) -> dict[str, tuple[int, int]]:
    """Return the fields of a word that differ, by name; empty if they are not known."""
    if word is None or not isinstance(before, int) or not isinstance(after, int):
        return {}
    old, new = unpack(word, before), unpack(word, after)
    return {name: (old[name], new[name]) for name in old if old[name] != new[name]}


def slot_value(name: str | None, value: object, amount: Callable[[int], str]) -> str:
    """Format the word of a slot by the slot's name; `amount` formats amounts of the contract's own token."""
    if value is None:
        return "not known"
    if not isinstance(value, int):
        return str(value)
    name = name or ""
    if name.startswith(_TOKEN_AMOUNTS):
        if value == UNLIMITED:
            return "unlimited"
        if name.startswith("allowance") and UNLIMITED - value < LARGEST_AMOUNT:
            return f"unlimited less {amount(UNLIMITED - value)}"
        if value < LARGEST_AMOUNT:
            return amount(value)
    return f"{value:#x}"
