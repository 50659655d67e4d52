"""The projection onto weights within bounds, against a plain bisection and the conditions of optimality."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mayavi.errors import UsageError
from mayavi.gym_env.capped_simplex import project

REQUESTS = arrays(np.float64, st.tuples(st.integers(1, 6), st.just(3)), elements=st.floats(-3, 3, width=64))
BOUNDS = st.tuples(st.floats(0, 1 / 3), st.floats(1 / 3, 1)).filter(lambda both: 3 * both[0] <= 1 <= 3 * both[1])


def by_bisection(request: list[float], low: float, high: float) -> list[float]:
    """The number that is taken off every part, found by halving an interval that holds it."""
    least, most = min(request) - high, max(request) - low
    for _ in range(200):
        middle = (least + most) / 2
        total = sum(min(max(each - middle, low), high) for each in request)
        least, most = (middle, most) if total > 1 else (least, middle)
    return [min(max(each - least, low), high) for each in request]


@settings(max_examples=300, deadline=None)
@given(REQUESTS, BOUNDS)
def test_it_is_the_nearest_point_and_no_bound_is_broken_by_a_bit(
    requests: np.ndarray, bounds: tuple[float, float]
) -> None:
    low, high = bounds
    found = project(requests, low, high)
    assert found.shape == requests.shape
    assert (found >= low).all()
    assert (found <= high).all()
    assert np.abs(found.sum(axis=1) - 1).max() <= 2e-15
    for request, weights in zip(requests.tolist(), found.tolist(), strict=True):
        assert weights == pytest.approx(by_bisection(request, low, high), abs=1e-12)
        # Optimality: what is taken off is one number for all that are between the bounds, at least that where a weight
        # is at the upper bound, and at most that where it is at the lower one.
        taken = [each - weight for each, weight in zip(request, weights, strict=True)]
        inside = [off for off, weight in zip(taken, weights, strict=True) if low < weight < high]
        above = [off for off, weight in zip(taken, weights, strict=True) if weight == high and weight > low]
        below = [off for off, weight in zip(taken, weights, strict=True) if weight == low and weight < high]
        slack = 1e-12
        if inside:
            assert max(inside) - min(inside) <= slack
            assert all(off >= max(inside) - slack for off in above)
            assert all(off <= min(inside) + slack for off in below)
        elif above and below:
            assert min(above) >= max(below) - slack


@given(REQUESTS)
@settings(max_examples=100, deadline=None)
def test_a_row_is_projected_alike_whoever_stands_beside_it(requests: np.ndarray) -> None:
    together = project(requests, 0.05, 0.6)
    alone = np.concatenate([project(row[None], 0.05, 0.6) for row in requests])
    assert together.tobytes() == alone.tobytes()


def test_what_is_within_the_bounds_stays_and_corners_go_to_the_cap() -> None:
    np.testing.assert_array_equal(project(np.array([[0.5, 0.25, 0.25]]), 0.05, 0.6), [[0.5, 0.25, 0.25]])
    np.testing.assert_allclose(project(np.array([[1.0, 0.0, 0.0]]), 0.05, 0.6), [[0.6, 0.2, 0.2]], rtol=1e-15)
    np.testing.assert_allclose(project(np.array([[0.5, 0.5, 0.0]]), 0.05, 0.6), [[0.475, 0.475, 0.05]], rtol=1e-15)
    # what clipping and dividing by the sum gets wrong
    np.testing.assert_allclose(project(np.array([[9.0, 0.1, 0.0]]), 0.05, 0.6), [[0.6, 0.25, 0.15]], rtol=1e-12)
    many = project(np.random.default_rng(1).uniform(-1, 2, (5, 7)), 0.01, 0.3)
    assert np.abs(many.sum(axis=1) - 1).max() <= 2e-15


@pytest.mark.parametrize(("low", "high"), [(0.4, 0.6), (0.0, 0.3), (0.5, 0.2)])
def test_bounds_that_no_weights_meet_are_an_error(low: float, high: float) -> None:
    with pytest.raises(UsageError, match="cannot add up to one"):
        project(np.ones((1, 3)), low, high)
