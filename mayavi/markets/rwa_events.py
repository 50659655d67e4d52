"""Rare events with exponential sizes, told by a normal that is far out: whether one happens, and how large it is."""

from __future__ import annotations

import numpy as np

from mayavi.markets import portable
from mayavi.markets.normal_tail import upper_quantile, upper_tail
from mayavi.markets.process import Floats


def event_sizes(z: Floats, chance: float, least: float, mean: float, lean: Floats | None = None) -> Floats:
    """Zero, but where `z` exceeds the bound that a normal exceeds with `chance`: there `least` and an exponential more.

    How far `z` is beyond the bound decides the size: the chance to be farther still is uniform, and its logarithm
    exponential with the mean `mean`. `lean` lowers the bound of each hour.
    """
    sizes = np.zeros(z.shape)
    if chance <= 0.0:
        return sizes
    bound = upper_quantile(chance)
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


def leaning_chance(chance: float, lean_variance: float) -> float:
    """The chance without a lean that makes events as frequent as `chance`, on average over a normal lean.

    A normal exceeds the bound minus a normal lean as often as the sum of both exceeds the bound.
    """
    if chance <= 0.0 or lean_variance <= 0.0:
        return chance
    return float(upper_tail(upper_quantile(chance) * (1.0 + lean_variance) ** 0.5))
