"""Whole numbers that a user gives: how many rows, episodes or threads."""

from __future__ import annotations

from operator import index
from typing import SupportsIndex

from mayavi.errors import BadInteger


def whole_number(name: str, value: SupportsIndex, least: int, most: int | None = None, *, hint: str = "") -> int:
    """Return `value` as an integer; `BadInteger` quotes it if it is invalid or out of range."""
    try:
        found = None if isinstance(value, bool) else index(value)
    except TypeError:
        found = None
    if found is None or found < least or (most is not None and found > most):
        wanted = f"give a whole number from {least:,} {'on' if most is None else f'to {most:,}'}"
        raise BadInteger(f"{name} is {value!r}", f"{wanted}; {hint}" if hint else wanted)
    return found
