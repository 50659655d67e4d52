"""Shares and factors as people write them, made exact: `0.3` is three tenths, whatever a float holds behind it."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction

from mayavi.errors import BadArgument
from mayavi.evm.units import WAD

Number = int | float | str | Decimal | Fraction
"""A number as people write it."""

MILLION = 10**6


def exactly(value: Number, what: str = "a number") -> Fraction:
    """`value` as its digits say; `BadArgument` where it is no number."""
    try:
        if isinstance(value, Fraction):
            return value
        return Fraction(Decimal(repr(float(value)) if isinstance(value, float) else value))
    except (InvalidOperation, ValueError, OverflowError, TypeError):
        raise BadArgument(f"{value!r} is not {what}", "write it as 1.5 or '1.5'") from None


def as_wad(value: Number, what: str = "a health factor") -> int:
    """`value` with 18 decimals, what lies beyond them cut off; `BadArgument` where it is negative."""
    number = exactly(value, what)
    if number < 0:
        raise BadArgument(f"{what} of {value} is below zero", "give one from zero on")
    return number.numerator * WAD // number.denominator


def as_ppm(value: Number, what: str = "a share") -> int:
    """A share in millionths: `0.3` is 300,000; `BadArgument` where it is not from 0 to 1."""
    number = exactly(value, what)
    if not 0 <= number <= 1:
        raise BadArgument(f"{what} of {value} is not from 0 to 1", "0.3 is 30 %")
    return number.numerator * MILLION // number.denominator


def units_of(value: Number, decimals: int, what: str = "an amount") -> int:
    """`value` whole tokens in smallest units, what lies beyond them cut off; `BadArgument` where it is negative."""
    number = exactly(value, what)
    if number < 0:
        raise BadArgument(f"{what} of {value} is below zero", "give one from zero on")
    return number.numerator * int(10**decimals) // number.denominator
