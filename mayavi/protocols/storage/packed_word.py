"""Fields packed into one word of storage."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, NamedTuple

Kind = Literal["number", "signed", "flag", "time", "x112", "x128"]
"""How the bits of a field are read; `x112` and `x128` are binary fixed point with so many places."""


_LAST_TIME = 2**33


class Field(NamedTuple):
    """Field of a word; the first one has the lowest bits. One without a name is reserved."""

    name: str
    bits: int
    kind: Kind = "number"


Word = tuple[Field, ...]
"""Fields of a word, lowest bits first; bits above the last are unused."""


def unpack(word: Word, value: int) -> dict[str, int]:
    """Return the fields of `value` by name; signed ones with their sign."""
    found: dict[str, int] = {}
    for field in word:
        part = value & (1 << field.bits) - 1
        value >>= field.bits
        if field.kind == "signed" and part >> field.bits - 1:
            part -= 1 << field.bits
        if field.name:
            found[field.name] = part
    return found


def show_field(field: Field, value: int) -> str:
    """Format the value of a field: numbers with separators, times in UTC, fixed point rounded to nine digits."""
    if field.kind == "flag":
        return "true" if value else "false"
    if field.kind == "time" and value < _LAST_TIME:
        return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M:%S}"
    if field.kind in ("x112", "x128"):
        return f"{value / 2 ** int(field.kind[1:]):.9g}"
    return f"{value:,}"
