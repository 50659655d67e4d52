"""Exact shares and factors from decimal input: the float `0.3` is three tenths."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction

from mayavi.errors import BadArgument
from mayavi.evm.units import WAD

Number = int | float | str | Decimal | Fraction
"""Number as written by the user."""

MILLION = 10**6


def to_fraction(value: Number, what: str = "a number") -> Fraction:
    """Return the exact fraction of the decimal digits; raise `BadArgument` if it is not a number."""
    try:
        if isinstance(value, Fraction):
            return value
        return Fraction(Decimal(repr(float(value)) if isinstance(value, float) else value))
    except (InvalidOperation, ValueError, OverflowError, TypeError):
        raise BadArgument(f"{value!r} is not {what}", "write it as 1.5 or '1.5'") from None


def as_wad(value: Number, what: str = "a health factor") -> int:
    """Return `value` with 18 decimals, truncated; raise `BadArgument` if it is negative."""
    number = to_fraction(value, what)
    if number < 0:
        raise BadArgument(f"{what} of {value} is below zero", "give one from zero on")
    return number.numerator * WAD // number.denominator


def as_ppm(value: Number, what: str = "a share") -> int:
    """Return a share in millionths: `0.3` is 300,000; raise `BadArgument` outside 0 to 1."""
    number = to_fraction(value, what)
    if not 0 <= number <= 1:
        raise BadArgument(f"{what} of {value} is not from 0 to 1", "0.3 is 30 %")
    return number.numerator * MILLION // number.denominator


def units_of(value: Number, decimals: int, what: str = "an amount") -> int:
    """Return whole tokens in smallest units, truncated; raise `BadArgument` if negative."""
    number = to_fraction(value, what)
    if number < 0:
        raise BadArgument(f"{what} of {value} is below zero", "give one from zero on")
    return number.numerator * int(10**decimals) // number.denominator
