"""Whole steps, computed by one program, have the bits of steps with arrays around it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mayavi.gym_env import make_rows
from mayavi.gym_env.lending.env import LendingRowsEnv
from mayavi.rl.evaluation.fingerprints import states
from tests.gym_env.variants import choices, episode, moment

ROWS = 6
NAMES = ["aave", "aave-shock", "compound"]
HARSH = {"health_factor": (1.02, 1.3), "cash_yield": (-0.9, 5.0), "shock_chance": 1.0, "shock_size": (-0.6, 2.0)}


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes an environment with whole steps, and the same with arrays."""

    def made(name: str, **settings: Any) -> tuple[LendingRowsEnv[Any], LendingRowsEnv[Any]]:
        monkeypatch.setattr(LendingRowsEnv, "most_whole_rows", ROWS)
        whole: Any = make_rows(name, ROWS, **settings)
        monkeypatch.setattr(LendingRowsEnv, "most_whole_rows", ROWS - 1)
        arrays: Any = make_rows(name, ROWS, **settings)
        assert ("observed" in whole.columns, "observed" in arrays.columns) == (True, False)
        return whole, arrays

    return made


@pytest.mark.parametrize(
    ("reward", "actions"),
    [("net_wealth", "continuous"), ("carry", "discrete"), ("guarded", "continuous"), ("health", "discrete")],
)
@pytest.mark.parametrize("name", NAMES)
def test_both_kinds_of_steps_have_the_same_bits(both: Any, name: str, reward: str, actions: str) -> None:
    harsh = HARSH if name != "aave" else {}
    whole, arrays = both(name, reward=reward, actions=actions, horizon=6, **harsh)
    numbers = [11 * each for each in range(ROWS)]
    told = episode(whole, numbers, choices(whole, 4))
    assert len(told) == 7
    for one, other in zip(told, episode(arrays, numbers, choices(arrays, 4)), strict=True):
        assert one["exact"] == other["exact"]
        for key in ("observations", "rewards", "terminated", "truncated"):
            assert one[key].tobytes() == other[key].tobytes(), key
    assert states(whole, range(ROWS)) == states(arrays, range(ROWS))
    for key, column in arrays.columns.items():
        assert column.tobytes() == whole.columns[key].tobytes(), key


def test_rows_that_stand_still_keep_what_they_saw(both: Any) -> None:
    for env in both("aave-shock", actions="continuous", reward="guarded"):
        env.begin(range(ROWS), range(ROWS))
        env.step(np.full((ROWS, 1), 0.3))
        live = np.array([True, False] * 3)
        before, kept = env.observe(), states(env, [1, 3, 5])
        after = env.step(np.full((ROWS, 1), -0.2), live).observations
        assert (after[~live] == before[~live]).all()
        assert (after[live] != before[live]).any(axis=1).all()
        assert states(env, [1, 3, 5]) == kept


def test_copied_and_restored_rows_see_the_same(both: Any) -> None:
    for env in both("compound"):
        env.begin(range(ROWS), range(ROWS))
        env.step(np.zeros(ROWS, dtype=np.int64))
        kept, seen = env.keep(range(ROWS)), env.observe()
        env.step(np.full(ROWS, 3))
        env.copy_rows([0], [5])
        assert (env.observe()[5] == env.observe()[0]).all()
        env.put(kept, [2, 1], [1, 2])
        assert (env.observe()[[1, 2]] == seen[[2, 1]]).all()
        again = moment(env, 0, 0, 0)
        env.step(np.full(ROWS, 3))
        env.put(kept, [2, 1], [1, 2])
        assert (env.observe()[[1, 2]] == again["observations"][[1, 2]]).all()
        twice = env.step(np.full(ROWS, 1)).rewards
        env.put(kept, [2, 1], [1, 2])
        assert (env.step(np.full(ROWS, 1)).rewards[[1, 2]] == twice[[1, 2]]).all()


def test_observations_are_not_changed_by_later_steps(both: Any) -> None:
    for env in both("aave"):
        env.begin(range(ROWS), range(ROWS))
        first = env.observe()
        copy = first.copy()
        env.step(np.full(ROWS, 2))
        assert (first == copy).all()
        env.begin([0], [99])
        assert (env.observe()[1:] != first[1:]).any()
