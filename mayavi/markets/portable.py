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
_SHIFT = 1.5 * 2.0**52
_CHUNK = 8192  # numbers at a time, so that what is between two operations stays in a cache
_FEW = 32
"""Up to so many numbers, the same operations one by one cost less than NumPy's calls do."""


def exp(x: ArrayLike) -> Floats:
    """e to the power of each of `x`."""
    values = np.asarray(x, dtype=np.float64)
    if values.size <= _FEW and np.isfinite(values).all():
        return _one_by_one(_exp, values)
    result = np.empty(values.shape)
    flat, into = np.ascontiguousarray(values).ravel(), result.ravel()
    for begin in range(0, flat.size, _CHUNK):
        some, found = flat[begin : begin + _CHUNK], into[begin : begin + _CHUNK]
        if some.min() > -700.0 and some.max() < 700.0:
            _exp_of_many(some, found)
        else:
            found[:] = _exp_of_any(some)
    return result


def _exp_of_many(values: Floats, into: Floats) -> None:
    """`_exp_of_any` where the result is a normal number: in place, and without a call for each power of two."""
    shifted = values * _INVERSE_LN2
    shifted += _SHIFT  # rounds to an integer, which stands in the last bits
    exponent = shifted - _SHIFT
    part = exponent * _LN2_HIGH
    rest = values - part
    np.multiply(exponent, _LN2_LOW, out=part)
    rest -= part
    tail = np.multiply(rest, _EXP_TERMS[0], out=part)
    tail += _EXP_TERMS[1]
    for term in _EXP_TERMS[2:]:
        tail *= rest
        tail += term
    np.multiply(rest, rest, out=exponent)
    tail *= exponent
    tail += rest
    np.add(tail, 1.0, out=into)
    powers = shifted.view(np.int64)
    powers <<= 52
    into.view(np.int64)[:] += powers


def _exp_of_any(values: Floats) -> Floats:
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
    result = np.empty(values.shape)
    flat, into = np.ascontiguousarray(values).ravel(), result.ravel()
    for begin in range(0, flat.size, _CHUNK):
        _log_of_many(flat[begin : begin + _CHUNK], into[begin : begin + _CHUNK])
    return result


def _log_of_many(values: Floats, into: Floats) -> None:
    mantissa, exponent = np.frexp(values)
    small = mantissa < _SQUARE_ROOT_HALF
    np.multiply(mantissa, 2.0, out=mantissa, where=small)
    mantissa -= 1.0
    power = np.subtract(exponent, small, dtype=np.float64)
    ratio = mantissa + 2.0
    np.divide(mantissa, ratio, out=ratio)  # log(1 + m) = 2·atanh(ratio)
    square = np.multiply(ratio, ratio, out=mantissa)
    ratio *= 2.0
    tail = square * _LOG_TERMS[0]
    tail += _LOG_TERMS[1]
    for term in _LOG_TERMS[2:]:
        tail *= square
        tail += term
    square *= ratio
    tail *= square
    tail += power * _LN2_LOW
    tail += ratio
    power *= _LN2_HIGH
    np.add(power, tail, out=into)


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
