"""Every environment can be searched and evaluated: its rows hold all there is to an episode."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mayavi.gym_env.registry import ENVS, make_rows
from mayavi.rl.evaluation.evaluate import EvaluationSettings
from mayavi.rl.evaluation.models import evaluate_baselines
from mayavi.rl.evaluation.play import play
from mayavi.rl.evaluation.strategies import Planned, baseline
from mayavi.rl.search.action_grid import action_grid
from mayavi.rl.search.exhaustive import search_exhaustively
from mayavi.rl.search.optimum import SearchSettings, find_optimum
from mayavi.statistics.bootstrap import Bootstrap
from tests.portfolio.backtest.worlds import past_market

REAL = tuple(name for name, each in ENVS.items() if each.home.startswith("mayavi."))
pytestmark = pytest.mark.slow(2)


@pytest.mark.parametrize("actions", ["discrete", "continuous"])
@pytest.mark.parametrize("name", REAL)
def test_a_searched_plan_earns_again_what_the_search_saw_and_nobody_earns_more(name: str, actions: str) -> None:
    count, points = (2, 2) if name == "scenario" else (4, 3)  # a scenario plays its rows one after another
    quick = EvaluationSettings(
        count, bootstrap=Bootstrap(resamples=100), search=SearchSettings("beam", width=2, points=points)
    )
    known = list(ENVS[name].load().strategies)
    config = {"horizon": count, "actions": actions, "split": "validation"}
    document = evaluate_baselines(name, [*known, "random", "optimum"], quick, config=config)
    best = np.array(document["optimum"]["rewards"])
    for other in known:
        assert (best >= np.array(document[other]["rewards"]) - 1e-12).all()
    assert document["regret"]["bound"] == "lower"
    assert document["optimum"]["distinct_starts"] == count


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


def test_windows_of_one_history_that_overlap_are_no_evidence(tmp_path: Path) -> None:
    """A random walk of three thousand hours: its test split holds three weeks, however often they are played."""
    past = str(past_market(tmp_path, hours=3_000))
    settings = EvaluationSettings(episodes=120, bootstrap=Bootstrap(resamples=400))
    told = {"data": past, "split": "test", "horizon": 168}
    document = evaluate_baselines("rwa", ["equal_weight", "meth_only"], settings, config=told)
    assert len(set(document["meth_only"]["fingerprints"])) > 100
    assert document["meth_only"]["effective_sample_size"] == 3
    (compared,) = document["comparisons"]
    assert (compared["verdict"], compared["distinct_pairs"]) == ("saturated", 3)
    assert compared["reason"] == (
        "120 episodes are windows of one history, into which 3 fit side by side, and a claim needs 20: windows that "
        "overlap are no new evidence"
    )
    short = evaluate_baselines("rwa", ["equal_weight", "meth_only"], settings, config=told | {"horizon": 12})
    of_each = short["comparisons"][0]
    assert of_each["distinct_pairs"] == 49
    drawn = evaluate_baselines("rwa", ["equal_weight", "meth_only"], settings, config={"horizon": 12})
    assert drawn["comparisons"][0]["distinct_pairs"] == 120


def test_resamples_are_no_larger_than_the_number_of_independent_episodes() -> None:
    values = np.random.default_rng(1).normal(size=400)
    whole, capped = (Bootstrap(independent_episodes=each).estimate(values) for each in (None, 25))
    assert whole.value == capped.value
    assert (capped.high - capped.low) / (whole.high - whole.low) == pytest.approx(4.0 * 2.064 / 1.966, rel=0.1)  # and t
    assert Bootstrap(independent_episodes=500).estimate(values) == whole
    several = np.stack([values, values + 0.1])
    wide, narrow = Bootstrap(independent_episodes=25).estimate_pooled(several), Bootstrap().estimate_pooled(several)
    assert wide.high - wide.low > 1.1 * (narrow.high - narrow.low)  # two trainings that differ make up most of it
