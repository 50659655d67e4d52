"""How likely a standard normal is to exceed a number, and the number it exceeds with a given chance.

Additions, multiplications and divisions alone, so that results are the same on every machine.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from mayavi.errors import BadArgument
from mayavi.markets import portable
from mayavi.markets.process import Floats

_DENSITY_AT_ZERO = 0.3989422804014327  # 1 / √(2π)
_TERMS = 80
_FAR = 2.5  # beyond, the continued fraction is exact to the last digits; below, the series is


def upper_tail(x: ArrayLike) -> Floats:
    """The chance that a standard normal is greater than each of `x`, to about 14 digits."""
    values = np.asarray(x, dtype=np.float64)
    density = _DENSITY_AT_ZERO * portable.exp(-0.5 * values * values)
    far = np.maximum(values, _FAR)
    fraction = far.copy()
    for term in range(_TERMS, 0, -1):
        fraction = far + term / fraction
    near = np.clip(values, -_FAR, _FAR)
    square, term_of_series, total = near * near, near.copy(), near.copy()
    for odd in range(3, 2 * _TERMS, 2):
        term_of_series = term_of_series * square / odd
        total = total + term_of_series
    beyond = np.where(values < -_FAR, 1.0, 0.0)
    if beyond.any():
        beyond = beyond * (1.0 - upper_tail(np.abs(values)))
    result: Floats = np.where(
        values > _FAR, density / fraction, np.where(values < -_FAR, beyond, 0.5 - density * total)
    )
    return result


@lru_cache(maxsize=256)
def upper_quantile(chance: float) -> float:
    """The number that a standard normal exceeds with `chance`, from 1e-12 to a half."""
    if not 1e-12 <= chance <= 0.5:
        raise BadArgument(f"the chance '{chance}' is out of range", "from 1e-12 to a half")
    low, high = 0.0, 7.2
    while True:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            return middle
        low, high = (middle, high) if float(upper_tail(middle)) > chance else (low, middle)
