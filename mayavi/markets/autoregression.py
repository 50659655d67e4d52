"""Vectorised first-order autoregressive series."""

from __future__ import annotations

import math

import numpy as np

from mayavi.markets.process import Floats
from mayavi.numerics import portable

SHORTEST_HALF_LIFE = 0.1
"""In steps. A faster decay keeps less than a thousandth, and its powers underflow."""

_BLOCK = 24
LN2 = float(portable.log(2.0))


def kept_of_half_life(steps: float) -> float:
    """Return the share of a deviation left after one step, for a half-life of `steps`."""
    return float(portable.exp(-LN2 / steps))


def shock_size(kept: float) -> float:
    """Return the standard deviation of shocks for which a series that keeps `kept` has standard deviation 1."""
    return math.sqrt(1.0 - kept * kept)


def autoregress(kept: Floats, first: Floats, shocks: Floats) -> Floats:
    """Compute x[0] = `first`, x[t + 1] = kept · x[t] + shocks[t].

    Shapes: `kept` (series,), `first` (series, paths), `shocks` (series, paths, steps), result (series, paths, steps +
    1). Within blocks of steps the shocks are divided by their decay, summed and multiplied again, then each block adds
    what is left of the one before: a few operations on whole arrays. A longer series begins with the shorter one, bit
    for bit.
    """
    series, paths, steps = shocks.shape
    blocks = -(-steps // _BLOCK)
    powers = np.cumprod(np.repeat(kept[:, None], _BLOCK, axis=1), axis=1)
    if steps == blocks * _BLOCK:
        inside = shocks.reshape(series, paths, blocks, _BLOCK) * (1.0 / powers)[:, None, None, :]
    else:
        padded = np.zeros((series, paths, blocks * _BLOCK))
        padded[:, :, :steps] = shocks
        inside = padded.reshape(series, paths, blocks, _BLOCK)
        inside *= (1.0 / powers)[:, None, None, :]
    np.cumsum(inside, axis=3, out=inside)
    ends = inside[:, :, :, -1].transpose(2, 0, 1).copy()  # would be a view for one path and block
    left = np.repeat(powers[:, -1:], paths, axis=1)
    ends *= left
    carried = np.empty((blocks + 1, series, paths))
    carried[0] = first
    for block in range(blocks):
        np.multiply(carried[block], left, out=carried[block + 1])
        carried[block + 1] += ends[block]
    inside += carried[:-1].transpose(1, 2, 0)[:, :, :, None]
    result = np.empty((series, paths, steps + 1))
    result[:, :, 0] = first
    inside *= powers[:, None, None, :]
    result[:, :, 1:] = inside.reshape(series, paths, -1)[:, :, :steps]
    return result
