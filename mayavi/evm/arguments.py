"""Argument checks of `Fork`: integers in range, and bytes."""

from __future__ import annotations

from typing import SupportsIndex

from mayavi.errors import BadInteger, UsageError
from mayavi.evm.units import as_integer

_WORD = 1 << 256


def word(value: SupportsIndex, what: str = "amount") -> int:
    """Return `value` as an unsigned 256-bit integer; NumPy integers are accepted, floats and bools are not."""
    if type(value) is int and 0 <= value < _WORD:  # the usual case
        return value
    return _integer(value, what, 256)


def u64(value: SupportsIndex, what: str) -> int:
    """Return `value` as an unsigned 64-bit integer."""
    return _integer(value, what, 64)


def u128(value: SupportsIndex, what: str) -> int:
    """Return `value` as an unsigned 128-bit integer."""
    return _integer(value, what, 128)


def to_bytes(data: object, what: str = "calldata") -> bytes:
    """Return `data` as bytes; text is refused because it may or may not be hex."""
    if type(data) is bytes:
        return data
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    hint = "`bytes.fromhex(text.removeprefix('0x'))` reads hex text" if isinstance(data, str) else None
    raise UsageError(f"{what} must be bytes, not {type(data).__name__}", hint)


def _integer(value: SupportsIndex, what: str, bits: int) -> int:
    try:
        number = as_integer(value)
    except TypeError:
        hint = "amounts are exact integers in the smallest unit of their token" if what == "amount" else None
        raise BadInteger(f"{what} {value!r} is not an integer", hint) from None
    if not 0 <= number < 1 << bits:
        raise BadInteger(f"{what} {number} is outside 0 … 2**{bits} - 1")
    return number
