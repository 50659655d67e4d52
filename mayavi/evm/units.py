"""Exact conversion between whole units and the smallest units of a token.

Internally, amounts are `int` in the smallest unit. `ether("1.5")`, `gwei(30)`, `wad("0.05")`, `ray("1.02")` and
`to_units("1700", 6)` make such integers; `from_units` and `format_units` convert back. Only `format_units` with
`places` rounds. A `float` is refused, since `0.1` is not exact.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from operator import index
from typing import SupportsIndex

from mayavi.errors import BadInteger

Amount = int | str | Decimal
"""An exact amount: an integer, decimal text such as `"1.5"`, or a `Decimal`."""

GWEI = 10**9
ETHER = WAD = 10**18
RAY = 10**27

_LARGEST_EXPONENT = 1_000  # far beyond 2**256, but "1e999999999" cannot exhaust the memory


def ether(amount: Amount) -> int:
    """`amount` of ether in wei."""
    return to_units(amount, 18)


def gwei(amount: Amount) -> int:
    """`amount` of gwei in wei."""
    return to_units(amount, 9)


def wad(amount: Amount) -> int:
    """`amount` as a fixed-point number with 18 decimals."""
    return to_units(amount, 18)


def ray(amount: Amount) -> int:
    """`amount` as a fixed-point number with 27 decimals, as Aave keeps rates and indices."""
    return to_units(amount, 27)


def to_units(amount: Amount, decimals: int) -> int:
    """`amount` times 10**decimals, exactly; `BadInteger` when that is not an integer."""
    if type(decimals) is not int or decimals < 0:
        raise BadInteger(f"decimals {decimals!r} is not a whole number from 0 on")
    if type(amount) is int:
        return amount * int(10**decimals)
    sign, digits, exponent = _exact(amount).as_tuple()
    if not isinstance(exponent, int) or abs(exponent) > _LARGEST_EXPONENT:
        raise BadInteger(f"amount '{amount}' is not a number of a reasonable size")
    magnitude = int("".join(map(str, digits)) or "0")
    shift = exponent + decimals
    if shift >= 0:
        magnitude *= int(10**shift)
    else:
        magnitude, rest = divmod(magnitude, int(10**-shift))
        if rest:
            raise BadInteger(
                f"amount '{amount}' has more than the {decimals} decimal places of its unit",
                "round it first, the way you mean it",
            )
    return -magnitude if sign else magnitude


def from_units(amount: int, decimals: int) -> Decimal:
    """`amount` divided by 10**decimals, exactly, whatever the precision of the current decimal context."""
    digits = tuple(map(int, str(abs(amount))))
    return Decimal((int(amount < 0), digits, -decimals))


def format_units(amount: int, decimals: int, places: int | None = None) -> str:
    """`amount` as text with thousands separators: `format_units(1_700_250_000, 6)` is `1,700.25`.

    Without `places` every digit is shown and trailing zeros are not. With it, exactly that many decimal places are
    shown, the last one rounded half to even.
    """
    shown = decimals if places is None else places
    magnitude = abs(amount)
    if shown < decimals:
        unit = 10 ** (decimals - shown)
        magnitude, rest = divmod(magnitude, unit)
        if 2 * rest > unit or (2 * rest == unit and magnitude % 2):
            magnitude += 1
    else:
        magnitude *= 10 ** (shown - decimals)
    whole, fraction = divmod(magnitude, 10**shown)
    tail = f"{fraction:0{shown}d}" if shown else ""
    if places is None:
        tail = tail.rstrip("0")
    sign = "-" if amount < 0 and magnitude else ""
    return f"{sign}{whole:,}.{tail}" if tail else f"{sign}{whole:,}"


def as_integer(value: SupportsIndex) -> int:
    """`value` as an `int` if it is an integer of any kind, NumPy's too; `TypeError` for bools, floats and the rest."""
    if isinstance(value, bool):
        raise TypeError("a bool is not a number here")
    return index(value)


def _exact(amount: Amount) -> Decimal:
    if isinstance(amount, float):
        raise BadInteger(f"amount {amount!r} is a float, which is not exact", f"write '{amount!r}' in quotes")
    try:
        return Decimal(amount if isinstance(amount, str | Decimal) else as_integer(amount))
    except TypeError:
        raise BadInteger(
            f"amount {amount!r} is of type {type(amount).__name__}", "give an int, text or a Decimal"
        ) from None
    except InvalidOperation:
        raise BadInteger(f"amount '{amount}' is not a number", "write it like '1700.25'") from None
