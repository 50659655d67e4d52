"""Hindsight bound: the most that any portfolio within bounds could be worth if the whole future were known.

Two relaxations of the real problem are solved exactly, and the smaller value is the bound:

- bounds without costs: every hour the highest allowed weight in the asset that grows most, then in the second. Hours
  are independent, so the value is a product;
- costs without bounds: a dollar in asset i moves between assets along the best path. Wealth is linear in the holdings,
  so a portfolio is worth no more than its dollars on their best paths.

Cost of a move. The environment takes paid = c·V·Σ|w - x/V| from holdings x of sum V, and leaves y = w·(V - paid).
With M = V·Σ|w - x/V|/2, the amount sold before fees, paid = 2cM. A shrinking asset shrinks by
x - y = (x - wV) + 2cM·w; all of them together by at most M + 2cM. The growing assets grow by 2cM less than that. So at
most 1 - 2cM/(M + 2cM) = 1/(1 + 2c) of a moved dollar arrives: letting exactly this arrive, and ignoring gas, allows
everything that the environment does.

A portfolio that falls too far below its peak is stopped and keeps its value, which may be more than a bad market would
leave. Such a value is below both the bound of that hour and the peak less the drawdown, and a peak is below the highest
bound so far: the bound includes this case.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import BadArgument
from mayavi.portfolio.capped_simplex import check_bounds

Floats = NDArray[np.float64]


def arriving(cost_bps: float) -> float:
    """Largest share of a moved dollar that arrives, with `cost_bps` paid on everything bought and sold."""
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
    """Upper bound on the value of a dollar held in weights `start`, at each hour: (rows, hours + 1).

    `growth` has factors of shape (rows, hours, 3).
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
    """Cumulative growth with the best weights within bounds at every hour."""
    worst, best = growth.min(axis=2), growth.max(axis=2)
    middle = np.maximum(worst, np.minimum(best, growth.sum(axis=2) - worst - best))
    weights, left = [], 1.0 - 3.0 * low
    for _ in range(3):  # fill up the best asset first
        weights.append(low + min(high - low, left))
        left -= weights[-1] - low
    return _cumulative(weights[0] * best + weights[1] * middle + weights[2] * worst)


def _without_bounds(growth: Floats, start: Floats, arrives: float) -> Floats:
    """Value of dollars in weights `start` on their best paths between assets."""
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


def _cumulative(factors: Floats) -> Floats:
    rows, hours = factors.shape
    product = np.ones((rows, hours + 1))
    np.cumprod(factors, axis=1, out=product[:, 1:])
    return product
