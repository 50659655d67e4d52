"""Allocation rules for three assets, vectorised over thousands of portfolios.

    cov = covariance(growth)                      # (rows, hours, 3) past growth factors -> (rows, 3, 3)
    minimum_variance(cov, 0.05, 0.60)             # (rows, 3) weights

With three assets, weights that sum to one form a plane, and those within bounds a polygon of at most six edges on it,
so closed forms replace a solver. A row's weights depend on that row alone, to the last bit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import BadArgument
from mayavi.portfolio.capped_simplex import check_bounds, project

Floats = NDArray[np.float64]
Matrix = tuple[Floats, Floats, Floats, Floats, Floats, Floats]
"""Symmetric 3 × 3 matrix for each row: entries 00, 11, 22, 01, 02, 12."""

ASSETS = 3
HOURS_A_YEAR = 8_760
TARGET_VOLATILITY = 0.20
"""Default target of `volatility_target`: standard deviation of a year's return."""

_ROWS_AT_ONCE = 128
"""Rows per batch: their past hours stay in the processor's cache."""
_MOST_NEWTON_STEPS = 60
_FULL_STEP_BELOW = 0.36
"""Newton decrement below which full steps on a self-concordant function converge quadratically."""


def covariance(growth: Floats) -> Floats:
    """Sample covariance (rows, 3, 3) of the returns in growth factors of shape (rows, hours, 3)."""
    past = np.asarray(growth, dtype=np.float64)
    if past.ndim != 3 or past.shape[2] != ASSETS or past.shape[1] < 2:
        raise BadArgument(f"growth has the shape {past.shape}", "give (rows, hours, 3), two hours at least")
    found = np.empty((len(past), ASSETS, ASSETS))
    for start in range(0, len(past), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        centred = [np.ascontiguousarray(past[rows, :, asset]) for asset in range(ASSETS)]
        for each in centred:
            each -= each.mean(axis=1, keepdims=True)
        for one in range(ASSETS):
            for other in range(one, ASSETS):
                product = np.einsum("rh,rh->r", centred[one], centred[other]) / (past.shape[1] - 1)
                found[rows, one, other] = found[rows, other, one] = product
    return found


def minimum_variance(cov: Floats, low: float, high: float) -> Floats:
    """Exact minimum-variance weights within [low, high].

    The variance is convex: its minimum on the polygon is the minimum on the plane if that lies inside, else on an edge,
    where one weight is fixed at a bound and the variance is a parabola in another.
    """
    check_bounds(ASSETS, low, high)
    entries = _entries(cov)
    best = _minimum_on_plane(entries)
    inside = ((best >= low) & (best <= high)).all(axis=0)  # False for NaN too
    outside = np.flatnonzero(~inside)
    if len(outside):
        best[:, outside] = _minimum_on_edges(_select_rows(entries, outside), low, high)
    return np.ascontiguousarray(best.T)


def risk_parity(cov: Floats, low: float = 0.0, high: float = 1.0) -> Floats:
    """Weights with equal contributions to the variance, projected onto the bounds.

    They minimise y'Cy/2 - (log y0 + log y1 + log y2)/3, with C the correlations and y the weights times their
    deviations, up to scale. That is self-concordant: damped Newton steps find it from anywhere.
    """
    check_bounds(ASSETS, low, high)
    entries = _entries(cov)
    deviations = np.sqrt(np.maximum(np.stack(entries[:3]), 0.0))
    # Without a floor, an asset that never moved would cause a division by zero.
    floor = np.maximum(deviations.max(axis=0) * 1e-9, np.finfo(np.float64).tiny ** 0.25)
    deviations = np.maximum(deviations, floor)
    one, two, three = deviations
    correlations = np.stack([entries[3] / (one * two), entries[4] / (one * three), entries[5] / (two * three)])
    scaled = _equal_contributions(np.clip(correlations, -1.0, 1.0))
    weights = scaled / deviations
    weights = np.ascontiguousarray((weights / weights.sum(axis=0)).T)
    return weights if (low, high) == (0.0, 1.0) else project(weights, low, high)


def momentum(growth: Floats, low: float, high: float) -> Floats:
    """Highest weight for the asset that grew most over `growth`, (rows, hours, 3), lowest for the one that grew least.

    Assets with equal growth share the weights of their ranks.
    """
    check_bounds(ASSETS, low, high)
    past = np.asarray(growth, dtype=np.float64)
    if past.ndim != 3 or past.shape[2] != ASSETS or not past.shape[1]:
        raise BadArgument(f"growth has the shape {past.shape}", "give (rows, hours, 3)")
    ranked = project(np.array([[low, 1.0 - low - high, high]]), low, high)[0]
    upto = np.concatenate([[0.0], np.cumsum(ranked)])
    grown = np.stack([past[:, :, asset].prod(axis=1) for asset in range(ASSETS)], axis=1)
    less = (grown[:, None, :] < grown[:, :, None]).sum(axis=2)
    same = (grown[:, None, :] == grown[:, :, None]).sum(axis=2)
    weights: Floats = (upto[less + same] - upto[less]) / same
    return project(weights, low, high)


def volatility_target(cov: Floats, low: float, high: float, target: float = TARGET_VOLATILITY) -> Floats:
    """Largest equal weights of the second and third asset with a yearly volatility of at most `target`.

    The first asset gets the rest. `cov` is of hourly returns. If every mix within bounds is more volatile than
    `target`, the least volatile is taken.
    """
    check_bounds(ASSETS, low, high)
    if not (math.isfinite(target) and target >= 0):
        raise BadArgument(f"{target} is not a valid volatility", "give a standard deviation per year, such as 0.2")
    s00, s11, s22, s01, s02, s12 = _entries(cov)
    mixed, across = (s11 + s22 + 2.0 * s12) / 4.0, (s01 + s02) / 2.0
    # The variance with a share x of the mix is square·x² + slope·x + s00.
    square, slope, rest = s00 - 2.0 * across + mixed, 2.0 * (across - s00), s00 - target**2 / HOURS_A_YEAR
    least, most = max(1.0 - high, 2.0 * low), min(1.0 - low, 2.0 * high)
    with np.errstate(divide="ignore", invalid="ignore"):
        under = np.maximum(slope * slope - 4.0 * square * rest, 0.0)
        # The larger root, in the form without cancellation.
        root = np.sqrt(under)
        largest = np.where(slope <= 0, (root - slope) / (2.0 * square), -2.0 * rest / (slope + root))
    beyond = square * most**2 + slope * most + rest
    share = np.where(beyond <= 0, most, np.clip(np.nan_to_num(largest, nan=least), least, most))
    return np.stack([1.0 - share, share / 2.0, share / 2.0], axis=1)


def _entries(cov: Floats) -> Matrix:
    """Split covariances (rows, 3, 3) into six arrays over the rows."""
    given = np.asarray(cov, dtype=np.float64)
    if given.ndim != 3 or given.shape[1:] != (ASSETS, ASSETS):
        raise BadArgument(f"covariances have the shape {given.shape}", "give (rows, 3, 3)")
    if not np.isfinite(given).all():
        raise BadArgument("a covariance is not a finite number", "the returns it comes from have a gap")
    pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    one, two, three, four, five, six = (np.ascontiguousarray(given[:, a, b]) for a, b in pairs)
    return one, two, three, four, five, six


def _select_rows(entries: Matrix, rows: NDArray[np.intp]) -> Matrix:
    one, two, three, four, five, six = (each[rows] for each in entries)
    return one, two, three, four, five, six


def _minimum_on_plane(entries: Matrix) -> Floats:
    """Minimum-variance weights of any sign that sum to one, (3, rows); NaN where the matrix is singular."""
    found = np.empty((ASSETS, len(entries[0])))
    calmest = np.argmin(np.stack(entries[:3]), axis=0)
    # Solve for the two other assets relative to the calmest: those differences are far from parallel even where the
    # calmest hardly moves.
    for asset, order in enumerate(((0, 3, 4), (1, 3, 5), (2, 4, 5))):
        rows = np.flatnonzero(calmest == asset)
        if not len(rows):
            continue
        own, to_one, to_other = (entries[at][rows] for at in order)
        one, other = [each for each in range(ASSETS) if each != asset]
        between = entries[5 - asset][rows]
        first, second = entries[one][rows] - 2.0 * to_one + own, entries[other][rows] - 2.0 * to_other + own
        across, at, by = between - to_one - to_other + own, own - to_one, own - to_other
        with np.errstate(divide="ignore", invalid="ignore"):
            determinant = first * second - across * across
            good = determinant > 1e-13 * first * second
            found[one, rows] = np.where(good, (second * at - across * by) / determinant, np.nan)
            found[other, rows] = np.where(good, (first * by - across * at) / determinant, np.nan)
        found[asset, rows] = 1.0 - found[one, rows] - found[other, rows]
    return found


def _minimum_on_edges(entries: Matrix, low: float, high: float) -> Floats:
    """Minimum-variance weights on the edges of the polygon, (3, rows)."""
    s00, s11, s22, s01, s02, s12 = entries
    squares, products = (s00, s11, s22), {(0, 1): s01, (0, 2): s02, (1, 2): s12}
    rows = len(s00)
    best, least = np.full((ASSETS, rows), 1.0 / ASSETS), np.full(rows, np.inf)
    for fixed, one, other in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
        between = products[one, other]
        to_one, to_other = products[_sorted(fixed, one)], products[_sorted(fixed, other)]
        curvature = squares[one] - 2.0 * between + squares[other]
        for bound in (low, high):
            left = 1.0 - bound
            start, end = max(low, left - high), min(high, left - low)
            if start > end:
                if start - end > 1e-12:
                    continue  # the other two cannot both stay within bounds
                start = end = (start + end) / 2.0
            pull = left * (squares[other] - between) + bound * (to_other - to_one)
            with np.errstate(divide="ignore", invalid="ignore"):
                lowest = np.where(curvature > 0, pull / curvature, np.sign(pull) * np.inf)
            share = np.clip(np.nan_to_num(lowest, nan=left / 2.0), start, end)
            rest = left - share
            variance = (
                bound * bound * squares[fixed]
                + share * share * squares[one]
                + rest * rest * squares[other]
                + 2.0 * (bound * share * to_one + bound * rest * to_other + share * rest * between)
            )
            better = variance < least
            least = np.where(better, variance, least)
            for asset, weight in ((fixed, bound), (one, share), (other, rest)):
                best[asset] = np.where(better, weight, best[asset])
    clipped: Floats = np.clip(best, low, high)
    return clipped


def _sorted(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


def _equal_contributions(correlations: Floats) -> Floats:
    """Solve y_i (Cy)_i = 1/3 for y, (3, rows), where C has ones and `correlations` 01, 02, 12."""
    share = 1.0 / ASSETS
    c01, c02, c12 = correlations
    everywhere = np.maximum(3.0 + 2.0 * (c01 + c02 + c12), 1e-6)
    found = np.tile(1.0 / np.sqrt(everywhere), (ASSETS, 1))
    going = np.arange(len(c01))
    for _ in range(_MOST_NEWTON_STEPS):
        y0, y1, y2 = found[:, going]
        d, e, f = c01[going], c02[going], c12[going]
        g0, g1, g2 = (
            y0 + d * y1 + e * y2 - share / y0,
            d * y0 + y1 + f * y2 - share / y1,
            e * y0 + f * y1 + y2 - share / y2,
        )
        a, b, c = 1.0 + share / (y0 * y0), 1.0 + share / (y1 * y1), 1.0 + share / (y2 * y2)
        # Newton step: inverse Hessian, by cofactors, times gradient.
        k00, k01, k02 = b * c - f * f, e * f - d * c, d * f - b * e
        k11, k12, k22 = a * c - e * e, d * e - a * f, a * b - d * d
        determinant = a * k00 + d * k01 + e * k02
        s0 = (k00 * g0 + k01 * g1 + k02 * g2) / determinant
        s1 = (k01 * g0 + k11 * g1 + k12 * g2) / determinant
        s2 = (k02 * g0 + k12 * g1 + k22 * g2) / determinant
        decrement = np.sqrt(np.maximum(ASSETS * (g0 * s0 + g1 * s1 + g2 * s2), 0.0))
        part = np.where(decrement > _FULL_STEP_BELOW, 1.0 / (1.0 + decrement), 1.0)
        found[:, going] = y0 - part * s0, y1 - part * s1, y2 - part * s2
        going = going[decrement > 1e-9]  # the step just taken squares this error
        if not len(going):
            break
    return found
