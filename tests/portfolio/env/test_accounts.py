"""The accounts of the portfolio of USDY, mETH and MI4: plain arithmetic, every bound, every dollar."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mayavi.portfolio.market.data import COLUMNS
from tests.portfolio.env.by_hand import USUAL
from tests.portfolio.env.rows import by_hand, requests, rwa


@pytest.mark.slow(2)
@pytest.mark.parametrize("reward", ["log_growth", "shaped"])
def test_an_episode_is_what_plain_arithmetic_makes_of_its_market(reward: str) -> None:
    env = rwa(3, reward=reward, horizon=400, rebalance_cost_bps=7.0, stop_drawdown=0.3, risk_free_rate=5.0)
    numbers = [11, 12, 13]
    env.begin(range(3), numbers)
    hands = [by_hand(env, number) for number in numbers]
    rng, live = np.random.default_rng(4), np.ones(3, dtype=np.bool_)
    steps = 0
    assert list(USUAL) == list(COLUMNS)
    for at in range(env.config.horizon):
        for row, hand in enumerate(hands):
            np.testing.assert_allclose(env.observe()[row], hand.observe(), rtol=2e-6, atol=2e-6)
        actions = requests(rng, env, at)
        stepped = env.step(actions, live)
        told = env.exact()
        for row in np.flatnonzero(live):
            reward_by_hand, terminated, truncated = hands[row].step(actions[row].astype(float).tolist())
            assert stepped.rewards[row] == pytest.approx(reward_by_hand, rel=1e-6, abs=1e-9)
            assert (stepped.terminated[row], stepped.truncated[row]) == (terminated, truncated)
            for name, expected in hands[row].info().items():
                assert told[name][row] == pytest.approx(expected, rel=1e-9, abs=1e-12), name
            steps += 1
        live &= ~stepped.done
        if not live.any():
            break
    assert steps > 400


def test_ten_thousand_random_actions_break_no_bound_and_lose_no_dollar() -> None:
    env = rwa(100, horizon=100, stop_drawdown=0.99)
    env.begin(range(100), range(100))
    rng = np.random.default_rng(5)
    traded = 0
    for at in range(100):
        before = env.columns["value"].copy()
        env.step(requests(rng, env, at))
        told = {name: np.array(values) for name, values in env.exact().items()}
        for weights in (told["target_weights"], told["weights"]):
            assert np.abs(weights.sum(axis=1) - 1).max() < 1e-14
        assert (told["target_weights"] >= 0.05).all()
        assert (told["target_weights"] <= 0.60).all()
        parts = before * told["return_by_asset"].sum(axis=1) - told["cost"] - told["gas_usd"]
        np.testing.assert_allclose(told["portfolio_value"] - before, parts, atol=1e-9 * before.max(), rtol=0)
        np.testing.assert_allclose(before * (1 + told["hourly_return"]), told["portfolio_value"], rtol=1e-13)
        assert ((told["cost"] > 0) == (told["turnover"] > 0)).all()
        assert ((told["gas_usd"] > 0) == (told["turnover"] > 0)).all()
        np.testing.assert_allclose(told["cost"], before * told["turnover"] * 0.001, rtol=1e-13)
        assert (told["peak_value"] >= told["portfolio_value"]).all()
        traded += int((told["turnover"] > 0).sum())
    assert 7_000 < traded < 10_000
    assert (env.columns["costs"] > 0).all()


@pytest.mark.slow(2)
def test_who_asks_for_what_is_held_pays_nothing_and_drifts_until_a_bound_is_broken() -> None:
    env = rwa(64, horizon=720, stop_drawdown=0.9, max_weight=0.42)
    env.begin(range(64), range(64))
    paid_within = brought_back = 0
    for _ in range(720):
        drifted = np.array(env.exact()["weights"])
        broken = (drifted < 0.05).any(axis=1) | (drifted > 0.42).any(axis=1)
        env.step(env.strategies["buy_and_hold"](env))
        turnover = env.columns["turnover"]
        assert (turnover[~broken] == 0).all()
        assert (env.columns["cost"][~broken] == 0).all()
        assert (turnover[broken] > 0).all()
        assert (np.array(env.exact()["target_weights"])[broken].max(axis=1) <= 0.42).all()
        paid_within += int((~broken).sum())
        brought_back += int(broken.sum())
    assert paid_within > 20_000
    assert brought_back > 100


def test_what_gas_takes_never_exceeds_what_is_there() -> None:
    env = rwa(4, initial_capital=1.0, market={"gas_median": 1e6}, stop_drawdown=0.99)
    env.begin(range(4), range(4))
    stepped = env.step(np.full((4, 3), 1.0))
    assert stepped.terminated.all()
    assert (env.columns["value"] == 0).all()
    assert np.isfinite(stepped.rewards).all()
    assert all(env.observation_space.contains(seen) for seen in stepped.observations)


def test_gas_and_costs_are_paid_once_and_a_dearer_market_pays_more() -> None:
    def after(**settings: Any) -> float:
        env = rwa(1, least_turnover=0.0, **settings)
        env.begin([0], [3])
        env.step(env.action_of([[0.6, 0.2, 0.2]]))
        return float(env.columns["value"][0])

    free = after(rebalance_cost_bps=0.0, market={"gas_median": 1e-12})
    turnover = 0.2 + 0.15 + 0.05
    assert after(rebalance_cost_bps=10.0, market={"gas_median": 1e-12}) == pytest.approx(
        free * (1 - 0.001 * turnover), rel=1e-7
    )
    assert after(rebalance_cost_bps=0.0, market={"gas_median": 2000.0}) < free - 1_000
