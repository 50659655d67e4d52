"""Rare events with exponential sizes, told by a normal that is far out: whether one happens, and how large it is."""

from __future__ import annotations

import math

import numpy as np

from mayavi.markets.normal_tail import upper_quantile, upper_tail
from mayavi.markets.process import Floats
from mayavi.numerics import portable
from mayavi.portfolio.market.data import HOURS_PER_YEAR


def event_bound(each_year: float, lean_variance: float = 0.0) -> float:
    """What a normal exceeds in so many hours of a year; infinite where that is none.

    With a lean, that is on average over a normal lean of `lean_variance`: a normal exceeds a bound less a normal lean
    as often as the sum of both exceeds the bound.
    """
    if each_year <= 0.0:
        return math.inf
    return upper_quantile(each_year / HOURS_PER_YEAR) * math.sqrt(1.0 + lean_variance)


def event_sizes(z: Floats, bound: float, least: float, mean: float, lean: Floats | None = None) -> Floats:
    """Zero, but where `z` exceeds `bound`, less the `lean` of that hour: there `least` and an exponential size more.

    How far `z` is beyond decides the size: the chance to be farther still is uniform, so its logarithm is exponential.
    """
    sizes = np.zeros(z.shape)
    if lean is None:
        rows, hours = np.nonzero(z > bound)
        bounds = np.full(len(rows), bound)
    else:
        everywhere = bound - lean
        rows, hours = np.nonzero(z > everywhere)
        bounds = everywhere[rows, hours]
    if len(rows):
        beyond, of_bounds = upper_tail(np.stack((z[rows, hours], bounds)))
        sizes[rows, hours] = least - mean * portable.log(beyond / of_bounds)
    return sizes
