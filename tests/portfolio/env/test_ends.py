"""How an episode of the portfolio ends, and what is rewarded."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi.errors import UsageError
from tests.portfolio.env.rows import rwa


@pytest.mark.slow(0.4)
def test_a_benchmark_takes_the_markets_noise_off_and_leaves_every_difference() -> None:
    played = {}
    for benchmark in ("none", "equal_weight"):
        for name, (request, cost) in {
            "usdy": ([1, -1, -1], 10),
            "meth": ([-1, 1, -1], 10),
            "even": ([0, 0, 0], 0),
        }.items():
            env = rwa(64, horizon=100, benchmark=benchmark, rebalance_cost_bps=cost, stop_drawdown=0.99)
            env.begin(range(64), range(64))
            actions = np.tile(np.float32(request), (64, 1))
            played[benchmark, name] = np.stack([env.step(actions).rewards for _ in range(100)])
    plain, less = (
        {name: played[which, name] for name in ("usdy", "meth", "even")} for which in ("none", "equal_weight")
    )
    assert less["usdy"] - less["meth"] == pytest.approx(plain["usdy"] - plain["meth"], abs=1e-12)
    assert np.abs(less["even"]).mean() < 0.02 * np.abs(plain["even"]).mean()  # but for gas
    assert less["usdy"].std() < 0.7 * plain["usdy"].std()
    with pytest.raises(UsageError, match="a benchmark belongs to log_growth"):
        rwa(1, reward="shaped", benchmark="equal_weight")


def test_ruin_terminates_and_the_horizon_truncates() -> None:
    env = rwa(20, horizon=300, market={"eth_drift": -12.0, "btc_drift": -12.0, "sol_drift": -12.0})
    env.begin(range(20), range(20))
    live, ends = np.ones(20, dtype=np.bool_), []
    while live.any():
        stepped = env.step(env.strategies["meth_only"](env), live)
        drawdown = env.drawdown()
        assert (stepped.terminated[live] == (drawdown[live] > 0.15)).all()
        ends += [bool(each) for each in stepped.terminated[live & stepped.done]]
        live &= ~stepped.done
    assert all(ends)
    assert (env.steps < 300).all()
    calm = rwa(4, horizon=6)
    calm.begin(range(4), range(4))
    for at in range(6):
        stepped = calm.step(calm.holding_actions())
        assert stepped.truncated.tolist() == [at == 5] * 4
        assert not stepped.terminated.any()


@pytest.mark.slow(1)
def test_ruin_costs_more_than_any_policy_loses_by_going_on() -> None:
    env = rwa(50, horizon=720, stop_drawdown=0.10)
    totals, ruined = np.zeros(50), np.zeros(50, dtype=np.bool_)
    env.begin(range(50), range(50))
    live = np.ones(50, dtype=np.bool_)
    rng = np.random.default_rng(2)
    while live.any():
        stepped = env.step(rng.uniform(-1, 1, (50, 3)), live)
        totals[live] += stepped.rewards[live]
        ruined |= stepped.terminated & live
        live &= ~stepped.done
    assert ruined.all()
    careful = np.zeros(50)
    env.begin(range(50), range(50))
    live = np.ones(50, dtype=np.bool_)
    while live.any():
        stepped = env.step(env.strategies["usdy_only"](env), live)
        careful[live] += stepped.rewards[live]
        live &= ~stepped.done
    assert careful.mean() > totals.mean() + 5
