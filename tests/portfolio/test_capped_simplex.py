"""Weights within bounds: the projection is the nearest point, exactly, for every request."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.errors import BadArgument
from mayavi.portfolio.capped_simplex import project

BOUNDS = [(0.05, 0.60, 3), (0.0, 1.0, 3), (0.10, 0.35, 3), (1 / 3, 1 / 3, 3), (0.0, 0.5, 2), (0.02, 0.30, 7)]


def nearest(requests: np.ndarray, low: float, high: float) -> np.ndarray:
    """The same by bisecting the shift: slow, and by another way."""
    least, most = requests.min(axis=1) - 1.5, requests.max(axis=1) + 0.5
    for _ in range(200):
        middle = (least + most) / 2
        over = np.clip(requests - middle[:, None], low, high).sum(axis=1) > 1
        least, most = np.where(over, middle, least), np.where(over, most, middle)
    return np.clip(requests - ((least + most) / 2)[:, None], low, high)


@pytest.mark.parametrize(("low", "high", "assets"), BOUNDS)
@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0])
def test_it_is_the_nearest_point_within_bounds(low: float, high: float, assets: int, scale: float):
    requests = np.random.default_rng(7).normal(size=(2_000, assets)) * scale
    found = project(requests, low, high)
    assert found.min() >= low
    assert found.max() <= high
    assert np.abs(found.sum(axis=1) - 1).max() < 1e-15 * assets
    assert np.abs(found - nearest(requests, low, high)).max() < 1e-14


def test_whoever_asks_for_nearly_all_gets_the_cap_and_not_more():
    request = np.array([[0.96, 0.02, 0.02]])
    clipped = np.clip(request, 0.05, 0.6)
    assert (clipped / clipped.sum()).max() > 0.85  # what clipping and dividing by the sum would give
    assert project(request, 0.05, 0.6) == pytest.approx(np.array([[0.6, 0.2, 0.2]]), abs=1e-15)


def test_weights_within_bounds_stay():
    inside = np.array([[0.4, 0.35, 0.25], [0.6, 0.35, 0.05], [0.05, 0.35, 0.6]])
    assert np.abs(project(inside, 0.05, 0.6) - inside).max() < 1e-16


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3))
def test_bounds_hold_whatever_is_asked(request_: list[float]):
    weights = project(np.array([request_]), 0.05, 0.6)[0]
    assert weights.min() >= 0.05
    assert weights.max() <= 0.6
    assert abs(weights.sum() - 1) < 1e-14


@given(st.integers(1, 50))
def test_a_row_depends_on_itself_alone(rows: int):
    requests = np.random.default_rng(3).normal(size=(50, 3))
    assert (project(requests[:rows], 0.05, 0.6) == project(requests, 0.05, 0.6)[:rows]).all()


@pytest.mark.parametrize(("low", "high"), [(0.4, 0.6), (0.05, 0.3), (-0.1, 0.6), (0.6, 0.05), (0.05, 1.1)])
def test_bounds_that_no_weights_fit_are_refused(low: float, high: float):
    with pytest.raises(BadArgument):
        project(np.full((1, 3), 1 / 3), low, high)


def test_one_portfolio_is_still_a_row():
    with pytest.raises(BadArgument, match="shape"):
        project(np.full(3, 1 / 3), 0.05, 0.6)
