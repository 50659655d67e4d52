"""Upper tail and upper quantile of the standard normal distribution.

Uses only additions, multiplications and divisions, so results are the same on every machine.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from mayavi.errors import BadArgument
from mayavi.markets.process import Floats
from mayavi.numerics import portable

_DENSITY_AT_ZERO = 0.3989422804014327  # 1 / √(2π)
_TERMS = 50
_FAR = 3.0  # the continued fraction is accurate above, the series below


def upper_tail(x: ArrayLike) -> Floats:
    """Return the probability that a standard normal exceeds each of `x`, to about 14 digits."""
    shape = np.shape(x)
    values = np.atleast_1d(np.asarray(x, dtype=np.float64))
    if (values > _FAR).all():
        return _far_tail(values).reshape(shape)
    upper = np.abs(values)
    result = np.where(upper > _FAR, _far_tail(np.maximum(upper, _FAR)), _near_tail(np.minimum(upper, _FAR)))
    both: Floats = np.where(values < 0, 1.0 - result, result).reshape(shape)
    return both


def _far_tail(values: Floats) -> Floats:
    """Density over a continued fraction."""
    fraction = values.copy()
    for term in range(_TERMS, 0, -1):
        np.divide(float(term), fraction, out=fraction)
        fraction += values
    tail: Floats = _density(values) / fraction
    return tail


def _near_tail(values: Floats) -> Floats:
    """One half minus the density times a series."""
    square = values * values
    term, total = values.copy(), values.copy()
    for odd in range(3, 2 * _TERMS, 2):
        term *= square
        term /= odd
        total += term
    tail: Floats = 0.5 - _density(values) * total
    return tail


def _density(values: Floats) -> Floats:
    density: Floats = _DENSITY_AT_ZERO * portable.exp(-0.5 * values * values)
    return density


@lru_cache(maxsize=256)
def upper_quantile(probability: float) -> float:
    """Return the number a standard normal exceeds with the given probability, from 1e-12 to a half."""
    if not 1e-12 <= probability <= 0.5:
        raise BadArgument(f"the probability '{probability}' is out of range", "from 1e-12 to a half")
    low, high = 0.0, 7.2
    while True:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            return middle
        low, high = (middle, high) if float(upper_tail(middle)) > probability else (low, middle)
