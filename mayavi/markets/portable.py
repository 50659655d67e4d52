"""exp and log that give the same bits on every machine.

NumPy and the C library choose an implementation by processor, and two of them may differ in the last bit. A price that
is rounded to an integer would then, now and then, be another integer. These use additions, multiplications and
divisions alone, which IEEE 754 defines to the last bit, and are within two units of it of the true value.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_LN2_HIGH = float.fromhex("0x1.62e42feep-1")  # its last bits are zero: a multiple by an exponent is exact
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_INVERSE_LN2 = float.fromhex("0x1.71547652b82fep+0")
_SQUARE_ROOT_HALF = float.fromhex("0x1.6a09e667f3bcdp-1")
_EXP_TERMS = [1.0 / math.factorial(n) for n in range(14, 1, -1)]
_LOG_TERMS = [1.0 / n for n in range(27, 2, -2)]


def exp(x: ArrayLike) -> Floats:
    """e to the power of each of `x`."""
    values = np.asarray(x, dtype=np.float64)
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
    mantissa, exponent = np.frexp(np.asarray(x, dtype=np.float64))
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
