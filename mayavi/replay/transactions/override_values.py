"""Parse the values of `--what-if` overrides."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from mayavi.errors import UsageError
from mayavi.evm.address import to_address
from mayavi.evm.units import ether, gwei

WORD_BYTES = 32
NATIVE_UNITS = ("", "wei", "gwei", "ether", "eth")
_AMOUNT = re.compile(r"(?P<number>-?\d[\d_,]*(?:\.[\d_]+)?)\s*(?P<unit>(?:[A-WYZa-wyz]\S*)?)")
_FRACTION = re.compile(r"-?\d+\.\d+")


def integer(text: str) -> int:
    """Parse a decimal or hex integer; separators are accepted."""
    try:
        return int(text.replace("_", "").replace(",", ""), 0)
    except ValueError:
        raise UsageError(f"'{text}' is not a whole number") from None


def split_amount(text: str) -> tuple[str, str]:
    """Split an amount into its number, without separators, and its unit, which may be empty: `1_500 USDC`."""
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        number, _, unit = text.strip().partition(" ")
        return number.replace("_", "").replace(",", ""), unit.strip()
    return found["number"].replace("_", "").replace(",", ""), found["unit"].strip()


def wei(text: str) -> int:
    """Parse an amount of the native coin: wei, `3 gwei` or `1.5 ether`."""
    number, unit = split_amount(text)
    match unit.lower():
        case "" | "wei":
            if _FRACTION.fullmatch(number):
                raise UsageError(f"'{number}' is not a whole number of wei", f"write {number} ether or {number} gwei")
            return integer(number)
        case "ether" | "eth":
            return ether(number)
        case "gwei":
            return gwei(number)
    raise UsageError(f"'{unit}' is not a unit of the native coin", "wei, gwei or ether")


def parse_argument(text: str, kind: str, amount: Callable[[str], int] = wei) -> Any:
    """Parse the text of an argument of an elementary ABI type; `amount` parses integers, with or without a unit."""
    if kind.startswith(("uint", "int")):
        return amount(text)
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
