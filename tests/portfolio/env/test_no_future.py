"""Nothing of the future is seen or earned in the portfolio."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi.portfolio.env.config import LOOKBACK
from mayavi.portfolio.env.observations import OWN
from mayavi.portfolio.market.assets import growth
from tests.portfolio.env.rows import WITHOUT_COSTS, market_of, rwa


def excess_of(rule: str, episodes: int, horizon: int) -> tuple[float, float]:
    """Mean and z of the log growth of a rule over that of equal weights, on the same episodes, without costs."""
    settings = {**WITHOUT_COSTS, "horizon": horizon, "stop_drawdown": 0.99, "split": "test"}
    one, other = rwa(episodes, **settings), rwa(episodes, **settings)
    for env in (one, other):
        env.begin(range(episodes), range(episodes))
    for _ in range(horizon):
        hours = one.hours
        if rule == "where the last hour went up":
            moves = one.observe()[:, OWN : OWN + 3]
        else:  # what the hour to come will do: what a leak would show
            moves = one.markets.levels_at(hours + 1) / one.markets.levels_at(hours)
        wanted = np.where(moves == moves.max(axis=1, keepdims=True), 1.0, -1.0)
        one.step(wanted)
        other.step(np.zeros((episodes, 3)))
    gained = np.log(one.columns["value"] / other.columns["value"])
    return float(gained.mean()), float(gained.mean() / (gained.std(ddof=1) / episodes**0.5))


@pytest.mark.slow(1)
def test_the_last_hours_move_cannot_be_earned_any_more() -> None:
    mean, z = excess_of("where the last hour went up", 400, 240)
    assert z < 1.96, f"the rule earns {mean:.2%} with z = {z:.2f}"
    _, leaked = excess_of("where the next hour goes up", 400, 24)
    assert leaked > 20  # had the observation shown the move that is earned, this test would see it


def test_a_policy_that_sees_now_and_an_hour_ago_earns_the_hour_to_come() -> None:
    env = rwa(8, horizon=48, **WITHOUT_COSTS)
    env.begin(range(8), range(8))
    markets = [growth(market_of(env, number).values, 0.5)[0] for number in range(8)]
    rng = np.random.default_rng(8)
    for hour in range(48):
        env.step(rng.uniform(-1, 1, (8, 3)))
        for row in range(8):
            held, factors = env.columns["target"][row], markets[row][LOOKBACK + hour]
            earned = 1 + env.columns["hourly_return"][row]
            assert earned == pytest.approx(float(held @ factors), rel=1e-9)
            seen = env.observe()[row, OWN : OWN + 3]  # now that it is over, it is seen
            np.testing.assert_allclose(seen, np.clip(100 * (factors - 1), -10, 10), rtol=1e-5, atol=1e-6)


def test_what_is_seen_does_not_depend_on_how_long_the_market_goes_on() -> None:
    short, long = rwa(5, horizon=30), rwa(5, horizon=90)
    for env in (short, long):
        env.begin(range(5), range(5))
    for _ in range(30):
        np.testing.assert_array_equal(short.observe()[:, 1:], long.observe()[:, 1:])
        actions = np.random.default_rng(int(short.steps[0])).uniform(-1, 1, (5, 3))
        assert short.step(actions).rewards.tolist() == long.step(actions).rewards.tolist()
