"""Actions of the portfolio: weights, the menu and the scripts."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi.errors import BadArgument
from mayavi.portfolio.env.config import LOOKBACK
from mayavi.portfolio.market.assets import growth
from tests.portfolio.env.rows import market_of, rwa


def test_weights_become_actions_and_back() -> None:
    env = rwa(2)
    weights = np.array([[0.4, 0.35, 0.25], [0.05, 0.35, 0.6]])
    np.testing.assert_allclose(env.weights_of(env.action_of(weights)), weights, atol=1e-7)
    assert env.action_of([0.5, 0.25, 0.25]).tolist() == [0.0, -0.5, -0.5]
    env.begin([0, 1], [0, 1])
    asked = np.array([[0.9, -0.2, 0.3], [-1.0, -1.0, -1.0]])
    env.step(asked)
    np.testing.assert_allclose(env.columns["target"], env.weights_of(asked), rtol=1e-15)


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ([0.5, 0.4, 0.3], "weights add up to 1.2"),
        ([0.3, 0.3, 0.3], "weights add up to 0.9"),
        ([0.7, 0.2, 0.1], "a weight of 0.7 is outside of 0.05 to 0.6"),
        ([0.6, 0.38, 0.02], "a weight of 0.02 is outside"),
        ([0.5, 0.5], r"weights have the shape \(2,\)"),
        ([float("nan"), 0.5, 0.5], "a weight is not a finite number"),
    ],
)
def test_weights_that_cannot_be_held_are_refused(weights: list[float], told: str) -> None:
    with pytest.raises(BadArgument, match=told):
        rwa().action_of(weights)


def test_the_menu_is_one_two_or_all_of_the_assets_as_far_as_the_bounds_go() -> None:
    env = rwa(8, actions="discrete", least_turnover=0.0)
    env.begin(range(8), [1] * 8)
    env.step(np.arange(8))
    expected = [
        [0.4, 0.35, 0.25],
        [1 / 3, 1 / 3, 1 / 3],
        [0.6, 0.2, 0.2],
        [0.2, 0.6, 0.2],
        [0.2, 0.2, 0.6],
        [0.475, 0.475, 0.05],
        [0.475, 0.05, 0.475],
        [0.05, 0.475, 0.475],
    ]
    np.testing.assert_allclose(env.columns["target"], expected, rtol=1e-14)
    assert env.columns["cost"][0] == 0


def test_scripts_hold_what_they_say() -> None:
    env = rwa(4)
    for name, expected in {
        "equal_weight": [1 / 3] * 3,
        "usdy_only": [0.6, 0.2, 0.2],
        "meth_only": [0.2, 0.6, 0.2],
        "mi4_only": [0.2, 0.2, 0.6],
        "buy_and_hold": [0.4, 0.35, 0.25],
        "noop": [0.4, 0.35, 0.25],
    }.items():
        env.begin(range(4), range(4))
        env.step(env.strategies[name](env))
        np.testing.assert_allclose(env.columns["target"], [expected] * 4, atol=1e-7, err_msg=name)


def test_past_growth_is_the_markets_and_reaches_before_the_start() -> None:
    env = rwa(3, horizon=12)
    env.begin(range(3), [5, 6, 7])
    factors = np.stack([growth(market_of(env, number).values, 0.5)[0] for number in (5, 6, 7)])
    for hour in range(4):
        for window in (1, 24, LOOKBACK):
            expected = factors[:, LOOKBACK + hour - window : LOOKBACK + hour]
            np.testing.assert_allclose(env.past_growth(window), expected, rtol=1e-13)
        env.step(np.zeros((3, 3)))
    with pytest.raises(BadArgument, match="a window of 169 hours"):
        env.past_growth(169)
