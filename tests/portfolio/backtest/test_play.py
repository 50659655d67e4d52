"""The quick way through a backtest is the environment's own, to the last bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mayavi.errors import UsageError
from mayavi.portfolio.backtest.play import Stage, Walked
from mayavi.rl.evaluation.strategies import RandomPlay, Scripted, Trained, baseline
from tests.portfolio.backtest.worlds import Fixed, making, past_market, started


class Watched:
    """A script that the backtest takes for somebody who looks: it goes through the environment's step."""

    def __init__(self, script: Any) -> None:
        self.script, self.name = script, script.name

    def begin(self, env: Any, episodes: Any) -> None:
        self.script.begin(env, episodes)

    def actions(self, env: Any, observations: Any) -> Any:
        return self.script.actions(env, observations)


def same(one: Walked, other: Walked) -> None:
    for name in ("values", "turnover", "cost", "weights", "lengths", "stopped"):
        assert (getattr(one, name) == getattr(other, name)).all(), name


@pytest.mark.slow(0.4)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"stop_drawdown": 0.02},
        {"min_weight": 0.0, "max_weight": 1.0, "rebalance_cost_bps": 100.0},
        {"least_turnover": 0.05, "start": "fixed"},
    ],
)
def test_every_script_walks_as_it_steps(settings: dict[str, Any]):
    env = started(40, **settings)
    stage = Stage(env, range(33))
    for name in env.strategies:
        same(stage.walk(baseline(env, name)), stage.walk(Watched(baseline(env, name))))
    same(stage.walk(RandomPlay(3), each_weight=True), stage.walk(Watched(RandomPlay(3)), each_weight=True))


def test_values_are_those_the_environment_tells_hour_by_hour():
    env = started(5)
    walked = Stage(env, range(5)).walk(baseline(env, "momentum"), each_weight=True)
    env.begin(range(5), range(5))
    live = np.ones(5, dtype=bool)
    script, paid = env.strategies["momentum"], np.zeros(5)
    for hour in range(48):
        stepped = env.step(script(env), live)
        told = env.exact()
        assert walked.values[live, hour + 1].tolist() == np.array(told["portfolio_value"])[live].tolist()
        assert (walked.weights[live, hour + 1] == np.array(told["weights"])[live]).all()
        paid += np.where(live, np.array(told["cost"]) + np.array(told["gas_usd"]), 0)
        live &= ~stepped.done
    assert walked.cost.sum(axis=1) == pytest.approx(paid)


def test_whoever_is_stopped_keeps_what_is_left():
    env = started(60, stop_drawdown=0.01)
    walked = Stage(env, range(60)).walk(baseline(env, "meth_only"))
    early = np.flatnonzero(walked.stopped & (walked.lengths < 40))
    assert len(early)
    for row in early:
        end = walked.lengths[row]
        assert len(set(walked.values[row, end:].tolist())) == 1
        assert (walked.cost[row, end:] == 0).all()
        peak = walked.values[row, : end + 1].max()
        assert 1 - walked.values[row, end] / peak > 0.01
    assert (walked.lengths[~walked.stopped] == 48).all()


def test_a_policy_that_looks_and_a_script_that_asks_for_the_same_have_the_same_course():
    env = started(12)
    stage = Stage(env, range(12))
    policy = Fixed(0.6, 0.2, 0.2)
    same(stage.walk(Trained("fixed", policy)), stage.walk(baseline(env, "usdy_only")))
    assert policy.asked == 48


def test_a_menu_of_actions_is_played_through_the_step():
    env = started(6, actions="discrete")
    stage = Stage(env, range(6))
    for name in ("equal_weight", "buy_and_hold", "momentum"):
        walked = stage.walk(Scripted(name, env.strategies[name]))
        assert np.isfinite(walked.values).all()


@pytest.mark.slow(0.5)
def test_episodes_of_a_real_market_start_where_they_are_told_to(tmp_path: Path):
    env = making(data=str(past_market(tmp_path)))(3)
    starts = env.markets.consecutive(48)  # type: ignore[attr-defined]
    assert len(starts) == 9
    assert starts[1] - starts[0] == 48
    env.begin_at(range(3), starts[:3])
    times = env.exact()["time"]
    assert [each - times[0] for each in times] == [0, 48 * 3600, 96 * 3600]
    ends = [env.markets.levels_at(np.full(3, hour)) for hour in (0, 48)]  # type: ignore[attr-defined]
    assert (ends[1][:-1] == ends[0][1:]).all()
    with pytest.raises(UsageError, match="cannot start at hour 0"):
        env.begin_at([0], [0])
    with pytest.raises(UsageError, match="cannot be chosen"):
        started(1).begin_at([0], [5])
