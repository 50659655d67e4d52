"""Checks of numeric parameters, with uniform error messages."""

from __future__ import annotations

import math

from mayavi.errors import BadArgument, BadInteger

_PLAIN = "numbers as in 0.8, not text"


def finite(name: str, value: float, meaning: str = "") -> float:
    """Convert to float; `BadArgument` unless it is a finite number."""
    if isinstance(value, bool | str):
        raise BadArgument(f"{name} '{value}' is not a number", meaning or _PLAIN)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise BadArgument(f"{name} '{value}' is not a number", meaning or _PLAIN) from None
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise BadArgument(f"{name} '{value}' is not a finite number", meaning or None)
    return number


def at_least_zero(name: str, value: float, meaning: str = "") -> float:
    """Convert to float; `BadArgument` if it is negative."""
    number = finite(name, value, meaning)
    if number < 0:
        raise BadArgument(f"{name} '{value}' is negative", meaning or f"{name} is zero or more")
    return number


def above_zero(name: str, value: float, meaning: str = "") -> float:
    """Convert to float; `BadArgument` unless it is positive."""
    number = finite(name, value, meaning)
    if number <= 0:
        raise BadArgument(f"{name} '{value}' is not above zero", meaning or f"{name} is more than zero")
    return number


def whole(name: str, value: int, least: int, meaning: str = "") -> int:
    """Convert to int; `BadInteger` unless it is a whole number of at least `least`."""
    try:
        number = value.__index__()
    except (AttributeError, TypeError):
        raise BadInteger(f"{name} '{value}' is not a whole number", meaning or None) from None
    if isinstance(value, bool):
        raise BadInteger(f"{name} '{value}' is not a whole number", meaning or None)
    if number < least:
        raise BadInteger(f"{name} '{value}' is less than {least}", meaning or None)
    return number
