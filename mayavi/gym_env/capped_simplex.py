"""Weights that add up to one and stay within bounds: the nearest such weights to any request, exactly.

Clipping and dividing by the sum does not do it: the division carries a weight over its bound again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError

Floats = NDArray[np.float64]


def project(requests: Floats, low: float, high: float) -> Floats:
    """For each row of `requests`, (n, k), the weights nearest to it with `low` ≤ w ≤ `high` and a sum of one.

    Nearest is by the sum of squares. No weight is outside its bounds by even a bit; sums are one up to rounding.
    """
    return project_columns(np.ascontiguousarray(requests.T, dtype=np.float64), low, high).T


def check_bounds(parts: int, low: float, high: float) -> None:
    """`UsageError` where no weights of so many parts lie within the bounds and add up to one."""
    if not (low <= high and parts * low <= 1.0 <= parts * high):
        raise UsageError(
            f"{parts} weights between {low:g} and {high:g} cannot add up to one",
            f"the lower bound is at most {1 / parts:.4g}, the upper one at least that",
        )


def project_columns(requests: Floats, low: float, high: float) -> Floats:
    """`project` of (k, n) requests, one a column: each of its passes then runs along memory.

    The nearest weights are the request less one number, clipped: w = clip(y - t, low, high). A pass takes the t that
    is right if nothing more is clipped. Where clipping then leaves a sum above one, t must grow, so all that are at the
    lower bound stay there, and else all at the upper one: they are settled, one at least in every pass that clips.
    """
    parts = len(requests)
    check_bounds(parts, low, high)
    free = np.ones(requests.shape, dtype=np.bool_)
    weights = requests + (1.0 - _total(requests)) / parts
    clipped = np.clip(weights, low, high)
    for _ in range(parts):
        excess = _total(clipped - weights)
        unsettled = excess != 0.0
        if not unsettled.any():
            break
        free &= ~(unsettled & np.where(excess > 0.0, weights <= low, weights >= high))
        settled_sum = _total(np.where(free, 0.0, clipped))
        count = _total(free)
        shift = (1.0 - settled_sum - _total(np.where(free, requests, 0.0))) / np.maximum(count, 1)
        weights = np.where(free, requests + shift, clipped)
        clipped = np.clip(weights, low, high)
    return clipped


def _total(values: NDArray[np.generic]) -> Floats:
    """The sum over the parts, added one after the other: the same bits whatever the number of columns."""
    total: Floats = values[0].astype(np.float64)
    for each in values[1:]:
        total += each
    return total
