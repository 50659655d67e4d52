"""Strict parsing of a node's answers: each function returns the exact value or raises `BadValue`."""

from __future__ import annotations

import re

_HEX_NUMBER = re.compile(r"0x[0-9a-fA-F]{1,64}")

MAX_CODE_BYTES = 1 << 20  # far above every chain's limit (24,576 on Ethereum)


class BadValue(ValueError):  # noqa: N818  (a name says what happened)
    """Malformed value in an answer. The client retries, then raises `RpcBadAnswer`."""


def quantity(value: object, bits: int = 256) -> int:
    """Parse a hex number such as "0x1f", at most `bits` wide. Leading zeros are accepted, since some nodes pad."""
    if not isinstance(value, str) or not _HEX_NUMBER.fullmatch(value):
        raise BadValue(f"{_shown(value)} is not a hex number of at most 32 bytes")
    number = int(value, 16)
    if number >> bits:
        raise BadValue(f"{_shown(value)} is wider than {bits} bits")
    return number


def quantity64(value: object) -> int:
    """Parse a hex number of at most 64 bits: nonces, block numbers, timestamps, gas."""
    return quantity(value, 64)


def data(value: object, length: int | None = None, max_length: int = MAX_CODE_BYTES) -> bytes:
    """Parse bytes such as "0x60fe", exactly `length` of them if given."""
    if not isinstance(value, str) or value[:2] != "0x":
        raise BadValue(f"{_shown(value)} is not hex text of whole bytes")
    try:
        raw = bytes.fromhex(value[2:])  # skips white space, which the length reveals; a pattern takes ten times as long
    except ValueError:
        raw = None
    if raw is None or len(value) != 2 + 2 * len(raw):
        raise BadValue(f"{_shown(value)} is not hex text of whole bytes")
    if length is not None and len(raw) != length:
        raise BadValue(f"{_shown(value)} has {len(raw)} bytes, not {length}")
    if len(raw) > max_length:
        raise BadValue(f"{len(raw)} bytes are more than the {max_length} expected")
    return raw


def hash32(value: object) -> bytes:
    """Parse a 32-byte hash."""
    return data(value, 32)


def fields(value: object) -> dict[str, object]:
    """Return `value` if it is a JSON object."""
    if not isinstance(value, dict):
        raise BadValue(f"{_shown(value)} is not a JSON object")
    return value


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:76] + "…" + text[-1]
