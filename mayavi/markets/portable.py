"""exp and log that give the same bits on every machine.

NumPy and the C library choose an implementation by processor, and two of them may differ in the last bit. A price that
is rounded to an integer would then, now and then, be another integer. These use additions, multiplications and
divisions alone, which IEEE 754 defines to the last bit, and are within two units of it of the true value.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_LN2_HIGH = float.fromhex("0x1.62e42feep-1")  # its last bits are zero: a multiple by an exponent is exact
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_INVERSE_LN2 = float.fromhex("0x1.71547652b82fep+0")
_SQUARE_ROOT_HALF = float.fromhex("0x1.6a09e667f3bcdp-1")
_EXP_TERMS = [1.0 / math.factorial(n) for n in range(14, 1, -1)]
_LOG_TERMS = [1.0 / n for n in range(27, 2, -2)]
_FEW = 32
"""Up to so many numbers, the same operations one by one cost less than NumPy's calls do."""


def exp(x: ArrayLike) -> Floats:
    """e to the power of each of `x`."""
    values = np.asarray(x, dtype=np.float64)
    if values.size <= _FEW and np.isfinite(values).all():
        return _one_by_one(_exp, values)
    with np.errstate(over="ignore", under="ignore"):
        values = np.clip(values, -750.0, 720.0)  # beyond, the result is zero or infinite anyway
        exponent = np.rint(np.nan_to_num(values) * _INVERSE_LN2)
        rest = (values - exponent * _LN2_HIGH) - exponent * _LN2_LOW
        tail = np.zeros_like(rest)
        for term in _EXP_TERMS:
            tail = tail * rest + term
        mantissa = 1.0 + (rest + rest * rest * tail)
        result: Floats = np.ldexp(mantissa, exponent.astype(np.int32))
    return result


def log(x: ArrayLike) -> Floats:
    """The natural logarithm of each of `x`, all of which are above zero."""
    values = np.asarray(x, dtype=np.float64)
    if values.size <= _FEW and (np.isfinite(values) & (values > 0)).all():
        return _one_by_one(_log, values)
    mantissa, exponent = np.frexp(values)
    small = mantissa < _SQUARE_ROOT_HALF
    mantissa = np.where(small, mantissa * 2.0, mantissa) - 1.0
    power = np.where(small, exponent - 1, exponent).astype(np.float64)
    ratio = mantissa / (2.0 + mantissa)  # log(1 + m) = 2·atanh(ratio)
    square = ratio * ratio
    tail = np.zeros_like(ratio)
    for term in _LOG_TERMS:
        tail = tail * square + term
    result: Floats = power * _LN2_HIGH + (2.0 * ratio + (2.0 * ratio * square * tail + power * _LN2_LOW))
    return result


def _one_by_one(function: Callable[[float], float], values: Floats) -> Floats:
    results: Floats = np.array([function(each) for each in values.ravel().tolist()], dtype=np.float64)
    shaped: Floats = results.reshape(values.shape)[()]  # as NumPy's functions do, a number for a number
    return shaped


def _exp(x: float) -> float:
    x = min(max(x, -750.0), 720.0)
    exponent = round(x * _INVERSE_LN2)
    rest = (x - exponent * _LN2_HIGH) - exponent * _LN2_LOW
    tail = 0.0
    for term in _EXP_TERMS:
        tail = tail * rest + term
    mantissa = 1.0 + (rest + rest * rest * tail)
    try:
        return math.ldexp(mantissa, exponent)
    except OverflowError:
        return math.inf


def _log(x: float) -> float:
    mantissa, exponent = math.frexp(x)
    if mantissa < _SQUARE_ROOT_HALF:
        mantissa, exponent = mantissa * 2.0, exponent - 1
    mantissa -= 1.0
    ratio = mantissa / (2.0 + mantissa)
    square, tail = ratio * ratio, 0.0
    for term in _LOG_TERMS:
        tail = tail * square + term
    return exponent * _LN2_HIGH + (2.0 * ratio + (2.0 * ratio * square * tail + exponent * _LN2_LOW))
