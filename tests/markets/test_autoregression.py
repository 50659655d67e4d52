"""Vectorised series equal the step-by-step recursion."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi.markets.autoregression import SHORTEST_HALF_LIFE, autoregress, kept_of_half_life, shock_size

RNG = np.random.default_rng(1)
KEPT = np.array([kept_of_half_life(life) for life in (SHORTEST_HALF_LIFE, 1.0, 24.0, 900.0)])


@pytest.mark.parametrize("steps", [1, 23, 24, 25, 100, 720])
def test_it_is_the_recursion(steps: int) -> None:
    first, shocks = RNG.standard_normal((4, 3)), RNG.standard_normal((4, 3, steps))
    one_by_one = [first]
    for step in range(steps):
        one_by_one.append(KEPT[:, None] * one_by_one[-1] + shocks[:, :, step])
    assert autoregress(KEPT, first, shocks) == pytest.approx(np.stack(one_by_one, axis=2), abs=1e-12)


def test_a_longer_series_begins_with_the_shorter_one_whoever_else_is_there() -> None:
    first, shocks = RNG.standard_normal((4, 5)), RNG.standard_normal((4, 5, 200))
    whole = autoregress(KEPT, first, shocks)
    for steps in (1, 24, 37, 96, 199):
        part = autoregress(KEPT, first[:, 2:3], shocks[:, 2:3, :steps])
        assert part.tobytes() == np.ascontiguousarray(whole[:, 2:3, : steps + 1]).tobytes()


def test_a_half_life_halves_and_the_shocks_keep_the_deviation() -> None:
    kept = kept_of_half_life(7.0)
    assert kept**7 == pytest.approx(0.5)
    assert kept**2 + shock_size(kept) ** 2 == pytest.approx(1.0)


@pytest.mark.parametrize("steps", [1, 23, 24, 25, 48])
def test_one_series_of_one_path_is_what_it_is_among_others(steps: int) -> None:
    rng = np.random.default_rng(3)
    first, shocks = rng.standard_normal((len(KEPT), 4)), rng.standard_normal((len(KEPT), 4, steps))
    together = autoregress(KEPT, first, shocks)
    alone = autoregress(KEPT[1:2], first[1:2, 2:3], shocks[1:2, 2:3])
    assert alone.tobytes() == together[1:2, 2:3].tobytes()
