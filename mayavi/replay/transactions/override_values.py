"""Parse the values of `--what-if` overrides."""

from __future__ import annotations

from typing import Any

from mayavi.errors import UsageError
from mayavi.evm.address import to_address
from mayavi.evm.units import ether, gwei

WORD_BYTES = 32


def integer(text: str) -> int:
    """Parse a decimal or hex integer; separators are accepted."""
    try:
        return int(text.replace("_", "").replace(",", ""), 0)
    except ValueError:
        raise UsageError(f"'{text}' is no whole number") from None


def wei(text: str) -> int:
    """Parse an amount of the native coin: wei, `3 gwei` or `1.5 ether`."""
    number, _, unit = text.partition(" ")
    number = number.replace("_", "").replace(",", "")
    match unit.strip().lower():
        case "":
            return integer(number)
        case "ether" | "eth":
            return ether(number)
        case "gwei":
            return gwei(number)
        case "wei":
            return integer(number)
    raise UsageError(f"'{unit}' is no unit of the native coin", "wei, gwei or ether")


def parse_argument(text: str, kind: str) -> Any:
    """Parse the text of an argument of an elementary ABI type."""
    if kind.startswith(("uint", "int")):
        return wei(text)
    if kind == "bool":
        if text.lower() not in ("true", "false"):
            raise UsageError(f"'{text}' is neither true nor false")
        return text.lower() == "true"
    if kind == "address":
        return to_address(text)
    if kind.startswith("bytes"):
        return hex_bytes(text)
    return text


def hex_bytes(text: str) -> bytes:
    """Parse bytes in hex."""
    try:
        return bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        raise UsageError(f"'{text[:40]}' is not hex") from None


def word_of(text: str) -> bytes:
    """Parse an integer into a 32-byte word, negative ones in two's complement."""
    number = integer(text)
    if not -(1 << 255) <= number < 1 << 256:
        raise UsageError(f"'{text}' does not fit into 32 bytes")
    return (number % (1 << 256)).to_bytes(WORD_BYTES)
