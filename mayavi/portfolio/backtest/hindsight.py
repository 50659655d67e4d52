"""What nobody can beat: a bound on the value of any portfolio within bounds, were the whole future known.

Two problems that ask for less than the real one are solved exactly, and the smaller of the two values counts:

- bounds without costs: every hour as much as is allowed in what grows most, then in the second. Hours do not matter to
  each other, so the value is a product;
- costs without bounds: a dollar in asset i goes from asset to asset by the best path there is. Wealth is linear in
  where it lies, so a portfolio does no better than each of its dollars does.

What a move costs. The environment takes paid = c·V·Σ|w - x/V| from holdings x of sum V, and leaves y = w·(V - paid).
With M = V·Σ|w - x/V|/2, what is sold before fees, paid = 2cM, and an asset that gets smaller gets smaller by
x - y = (x - wV) + 2cM·w; all of these together by at most M + 2cM. All that get larger do so by 2cM less than that. So
of a dollar that leaves, at most 1 - 2cM/(M + 2cM) = 1/(1 + 2c) arrives: a bound in which exactly this arrives, and
gas costs nothing, allows everything that the environment does.

Whoever falls too far below the peak is stopped and keeps what is left, which may be more than the rest of a bad market
would leave. A value kept like that is below both the bound of that hour and the peak less the fall, and a peak is below
the highest bound so far: that is allowed too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import BadArgument
from mayavi.portfolio.capped_simplex import check_bounds

Floats = NDArray[np.float64]


def arriving(cost_bps: float) -> float:
    """The most that arrives of a dollar that is moved where `cost_bps` is paid on everything bought and sold."""
    return 1.0 / (1.0 + 2.0 * cost_bps / 10_000)


def hindsight_bound(
    growth: Floats,
    start: Floats,
    *,
    low: float,
    high: float,
    cost_bps: float,
    stop_drawdown: float = 1.0,
) -> Floats:
    """(rows, hours + 1): what a dollar in weights `start` can have become at each hour at most.

    `growth` are (rows, hours, 3) factors.
    """
    factors, begin = np.asarray(growth, dtype=np.float64), np.asarray(start, dtype=np.float64)
    if factors.ndim != 3 or factors.shape[2] != 3 or begin.shape != (3,):
        raise BadArgument(
            f"growth has the shape {factors.shape} and a start {begin.shape}", "give (rows, hours, 3) and three weights"
        )
    check_bounds(3, low, high)
    bound = np.minimum(_without_costs(factors, low, high), _without_bounds(factors, begin, arriving(cost_bps)))
    if stop_drawdown < 1:
        peaks = np.maximum.accumulate(bound, axis=1)
        kept = np.maximum.accumulate(np.minimum(bound, (1.0 - stop_drawdown) * peaks), axis=1)
        bound = np.maximum(bound, kept)
    return bound


def _without_costs(growth: Floats, low: float, high: float) -> Floats:
    """The product of what the best weights within bounds make of each hour."""
    worst, best = growth.min(axis=2), growth.max(axis=2)
    middle = np.maximum(worst, np.minimum(best, growth.sum(axis=2) - worst - best))
    weights, left = [], 1.0 - 3.0 * low
    for _ in range(3):  # what lies above the lower bound goes to the best first
        weights.append(low + min(high - low, left))
        left -= weights[-1] - low
    return _from_one(weights[0] * best + weights[1] * middle + weights[2] * worst)


def _without_bounds(growth: Floats, start: Floats, arrives: float) -> Floats:
    """What dollars that lie as `start` become on their best paths."""
    rows, hours, assets = growth.shape
    factors = np.ascontiguousarray(growth.transpose(1, 2, 0))
    total = np.empty((hours + 1, rows))
    total[0] = 1.0
    paths = np.zeros((assets, assets, rows))  # from, to
    paths[range(assets), range(assets)] = 1.0
    for hour in range(hours):
        farthest = paths.max(axis=1, keepdims=True) * arrives
        np.maximum(paths, farthest, out=paths)
        paths *= factors[hour]
        total[hour + 1] = np.einsum("i,ir->r", start, paths.max(axis=1))
    return np.ascontiguousarray(total.T)


def _from_one(factors: Floats) -> Floats:
    rows, hours = factors.shape
    product = np.ones((rows, hours + 1))
    np.cumprod(factors, axis=1, out=product[:, 1:])
    return product
