"""Rare events with exponential sizes, both decided by one normal draw far in the tail."""

from __future__ import annotations

import math

import numpy as np

from mayavi.markets.normal_tail import upper_quantile, upper_tail
from mayavi.markets.process import Floats
from mayavi.numerics import portable
from mayavi.portfolio.market.data import HOURS_PER_YEAR


def event_bound(each_year: float, lean_variance: float = 0.0) -> float:
    """Bound that a standard normal exceeds in `each_year` hours a year; infinite for none.

    With `lean_variance`, the frequency is averaged over a normal lean that lowers the bound: a normal exceeds
    bound - lean as often as the sum of both exceeds the bound.
    """
    if each_year <= 0.0:
        return math.inf
    return upper_quantile(each_year / HOURS_PER_YEAR) * math.sqrt(1.0 + lean_variance)


def event_sizes(z: Floats, bound: float, least: float, mean: float, lean: Floats | None = None) -> Floats:
    """Sizes of events: `least` plus an exponential size where `z` exceeds `bound - lean`, elsewhere zero.

    The tail probability beyond `z`, given an event, is uniform; its negative logarithm is the exponential size.
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
