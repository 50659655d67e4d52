"""Weights within bounds: the nearest point of the capped simplex.

The capped simplex holds the weights that sum to one and lie each in [low, high]. The nearest such weights to a request
are `clip(request - shift, low, high)` with the one shift that makes them sum to one. Each pass below finds the shift as
if the weights that are still free all stayed within bounds, and settles those that would not: with k assets it is exact
after k passes, and rows that need none are done after the first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import BadArgument

Floats = NDArray[np.float64]

_ROUNDING = 1e-15
"""More than the sum of a few weights can be off by rounding."""


def project(requests: Floats, low: float, high: float) -> Floats:
    """The weights nearest to each of `requests`, (rows, assets), that sum to one and lie within [low, high]."""
    wanted = np.asarray(requests, dtype=np.float64)
    if wanted.ndim != 2:
        raise BadArgument(f"requests have the shape {wanted.shape}", "give one row of weights for each portfolio")
    # Sums over the first axis are many times faster than over a short last one.
    return np.ascontiguousarray(project_columns(np.ascontiguousarray(wanted.T), low, high).T)


def project_columns(requests: Floats, low: float, high: float) -> Floats:
    """`project` of (assets, rows) requests, one a column."""
    assets = len(requests)
    check_bounds(assets, low, high)
    near = requests - requests.max(axis=0)  # the digits of a large request would be missing in its sum
    shifted = near + (1.0 - near.sum(axis=0)) / assets
    weights: Floats = np.clip(shifted, low, high)
    beyond = np.flatnonzero((weights != shifted).any(axis=0))
    if len(beyond):
        weights[:, beyond] = _settled(near[:, beyond], weights[:, beyond], low, high)
    return weights


def check_bounds(assets: int, low: float, high: float) -> None:
    """`BadArgument` where no weights of so many assets can lie within [low, high] and sum to one."""
    if not 0 <= low <= high <= 1:
        raise BadArgument(f"weights cannot lie between {low:g} and {high:g}", "give 0 <= low <= high <= 1")
    if low * assets > 1 + 1e-12 or high * assets < 1 - 1e-12:
        raise BadArgument(
            f"{assets} weights between {low:g} and {high:g} cannot sum to one",
            f"give low <= 1/{assets} <= high",
        )


def _settled(near: Floats, weights: Floats, low: float, high: float) -> Floats:
    """The projection where some weight left its bounds in the first pass; `weights` are clipped. (assets, rows) all."""
    assets = len(near)
    fixed = np.zeros(near.shape, dtype=np.bool_)
    for _ in range(assets):
        # A sum above one asks for less: what is at `low` already stays there. Below one it is the reverse, and at one,
        # up to rounding, everything that is at a bound is where it belongs.
        excess = weights.sum(axis=0) - 1.0
        fixed |= (excess > -_ROUNDING) & (weights <= low)
        fixed |= (excess < _ROUNDING) & (weights >= high)
        left = 1.0 - np.where(fixed, weights, near).sum(axis=0)
        free = assets - fixed.sum(axis=0)
        weights = np.where(fixed, weights, np.clip(near + left / np.maximum(free, 1), low, high))
    rounding = (1.0 - weights.sum(axis=0)) / np.maximum(free, 1)
    return np.where(fixed, weights, np.clip(weights + rounding, low, high))
