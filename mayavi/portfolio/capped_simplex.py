"""Euclidean projection of portfolio weights onto the capped simplex.

The capped simplex is the set of weights that sum to one and each lie in [low, high]. The projection of a request is
`clip(request - shift, low, high)` with the shift that makes it sum to one. Each pass computes the shift as if all free
weights stayed within bounds, and fixes those that would not: with k assets it is exact after k passes, and rows within
bounds are done after the first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import BadArgument

Floats = NDArray[np.float64]

_ROUNDING = 1e-15
"""Upper bound of the rounding error in a sum of a few weights."""


def project(requests: Floats, low: float, high: float) -> Floats:
    """Project each row of `requests`, (rows, assets), onto the weights within [low, high] that sum to one."""
    wanted = np.asarray(requests, dtype=np.float64)
    if wanted.ndim != 2:
        raise BadArgument(f"requests have the shape {wanted.shape}", "give one row of weights for each portfolio")
    # Sums over the first axis are many times faster than over a short last one.
    return np.ascontiguousarray(project_columns(np.ascontiguousarray(wanted.T), low, high).T)


def project_columns(requests: Floats, low: float, high: float) -> Floats:
    """Project requests of shape (assets, rows), one a column."""
    assets = len(requests)
    check_bounds(assets, low, high)
    near = requests - requests.max(axis=0)  # a large request would lose digits in the sum
    shifted = near + (1.0 - near.sum(axis=0)) / assets
    weights: Floats = np.clip(shifted, low, high)
    beyond = np.flatnonzero((weights != shifted).any(axis=0))
    if len(beyond):
        weights[:, beyond] = _project_clipped(near[:, beyond], weights[:, beyond], low, high)
    return weights


def check_bounds(assets: int, low: float, high: float) -> None:
    """Raise `BadArgument` if no weights of `assets` assets within [low, high] sum to one."""
    if not 0 <= low <= high <= 1:
        raise BadArgument(f"weights cannot lie between {low:g} and {high:g}", "give 0 <= low <= high <= 1")
    if low * assets > 1 + 1e-12 or high * assets < 1 - 1e-12:
        raise BadArgument(
            f"{assets} weights between {low:g} and {high:g} cannot sum to one",
            f"give low <= 1/{assets} <= high",
        )


def _project_clipped(near: Floats, weights: Floats, low: float, high: float) -> Floats:
    """Finish the projection of columns that left their bounds; `weights` are clipped. Shapes are (assets, rows)."""
    assets = len(near)
    fixed = np.zeros(near.shape, dtype=np.bool_)
    for _ in range(assets):
        # If the sum exceeds one, weights must shrink: those at `low` stay fixed. Below one it is the reverse. At one,
        # up to rounding, all weights at a bound are final.
        excess = weights.sum(axis=0) - 1.0
        fixed |= (excess > -_ROUNDING) & (weights <= low)
        fixed |= (excess < _ROUNDING) & (weights >= high)
        left = 1.0 - np.where(fixed, weights, near).sum(axis=0)
        free = assets - fixed.sum(axis=0)
        weights = np.where(fixed, weights, np.clip(near + left / np.maximum(free, 1), low, high))
    rounding = (1.0 - weights.sum(axis=0)) / np.maximum(free, 1)
    return np.where(fixed, weights, np.clip(weights + rounding, low, high))
