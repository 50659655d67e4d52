"""Every environment can be searched and evaluated: its rows hold all there is to an episode."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from mayavi.gym_env.registry import ENVS, make_rows
from mayavi.rl.action_grid import action_grid
from mayavi.rl.evaluation import EvaluationSettings
from mayavi.rl.exhaustive_search import search_exhaustively
from mayavi.rl.interval_estimates import Bootstrap
from mayavi.rl.model_evaluation import evaluate_baselines
from mayavi.rl.optimum import SearchSettings, find_optimum
from mayavi.rl.play import play
from mayavi.rl.strategies import Planned, baseline

REAL = ("aave", "aave-shock", "compound", "vesting", "liquidator", "rwa")
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("actions", ["discrete", "continuous"])
@pytest.mark.parametrize("name", REAL)
def test_a_searched_plan_earns_again_what_the_search_saw_and_nobody_earns_more(name: str, actions: str) -> None:
    quick = EvaluationSettings(5, bootstrap=Bootstrap(resamples=100), search=SearchSettings("beam", width=2, points=3))
    known = list(ENVS[name].load().strategies)
    config = {"horizon": 5, "actions": actions, "split": "validation"}
    document = evaluate_baselines(name, [*known, "random", "optimum"], quick, config=config)
    best = np.array(document["optimum"]["rewards"])
    for other in known:
        assert (best >= np.array(document[other]["rewards"]) - 1e-12).all()
    assert document["regret"]["bound"] == "lower"
    assert document["optimum"]["distinct_starts"] == 5


@pytest.mark.parametrize("name", ["aave", "vesting", "liquidator", "rwa"])
def test_a_fixed_start_is_one_state_whatever_the_episode_and_the_split(name: str) -> None:
    starts: set[str] = set()
    for split in ("train", "test"):
        env = make_rows(name, 4, start="fixed", split=split, horizon=2)
        starts |= set(play(env, baseline(env, "noop"), range(4)).starts)
    assert len(starts) == 1


def test_the_optimum_of_the_borrower_is_the_best_of_all_sequences() -> None:
    settings: dict[str, Any] = {"start": "fixed", "horizon": 4}
    env = make_rows("aave", 81, **settings)
    plans = dict(enumerate(np.array(each) for each in product(range(3), repeat=4)))
    # with a fixed start every episode is the same one, so each number can carry another plan
    tried = play(env, Planned("all", plans), range(81))
    found = search_exhaustively(make_rows("aave", 27, **settings), 0, action_grid(env))
    assert found.value == tried.rewards.max()
    assert found.row_steps < 3 + 9 + 27 + 81  # a repayment out of an empty wallet is a rest
    assert found.merged > 0


@pytest.mark.parametrize(("name", "horizon"), [("aave", 6), ("aave-shock", 4), ("vesting", 4)])
def test_a_beam_finds_the_optimum_where_everything_can_be_tried(name: str, horizon: int) -> None:
    def make(rows: int) -> Any:
        return make_rows(name, rows, split="validation", horizon=horizon)

    exact = find_optimum(make, range(6), SearchSettings("exhaustive"))
    beam = find_optimum(make, range(6), SearchSettings("beam"))
    assert beam.values == pytest.approx(exact.values, rel=1e-12)
    assert all(beam.values[episode] <= exact.values[episode] + 1e-15 for episode in range(6))
