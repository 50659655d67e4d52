"""Rows as stable-baselines3 has them: ends and statistics as told by its own wrappers, and exact resuming."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from benchmarks.subjects.free_env import FREE, FreeConfig, FreeEnv
from mayavi.errors import UsageError
from mayavi.gym_env.adapters.sb3 import RowsVecEnv, make_sb3
from mayavi.gym_env.adapters.single import MayaviEnv
from mayavi.gym_env.registry import ENVS

ROWS = 5


def free(rows: int = ROWS, **settings: Any) -> FreeEnv:
    return FreeEnv(FreeConfig(**{"horizon": 4} | settings), rows)


def weights(model: PPO) -> dict[str, Any]:
    return {name: value.detach().numpy().copy() for name, value in model.policy.state_dict().items()}


@pytest.mark.parametrize("actions", ["discrete", "continuous"])
def test_rows_tell_what_single_environments_in_sb3s_own_wrappers_tell(actions: str) -> None:
    ours = RowsVecEnv(free(actions=actions))
    theirs = DummyVecEnv([lambda: Monitor(MayaviEnv(free(1, actions=actions))) for _ in range(ROWS)])
    ours.seed(11)
    theirs.seed(11)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    rng = np.random.default_rng(0)
    for _ in range(11):
        given: NDArray[Any] = rng.integers(3, size=ROWS) if actions == "discrete" else rng.uniform(-1, 1, (ROWS, 1))
        one, other = ours.step(given), theirs.step(given)
        for mine, its in zip(one[:3], other[:3], strict=True):
            np.testing.assert_array_equal(mine, its)
            assert mine.dtype == its.dtype
        for mine, its in zip(one[3], other[3], strict=True):
            assert ("episode" in mine) == ("episode" in its)
            if "episode" in mine:
                assert mine["episode"]["r"] == pytest.approx(its["episode"]["r"], abs=1e-6)
                assert mine["episode"]["l"] == its["episode"]["l"]
                assert mine["TimeLimit.truncated"] == its["TimeLimit.truncated"]
                np.testing.assert_array_equal(mine["terminal_observation"], its["terminal_observation"])


def test_a_chosen_episode_is_played_once_and_other_options_are_refused() -> None:
    env = RowsVecEnv(free())
    env.set_options({"episode": 17})
    env.reset()
    assert env.env.episodes.tolist() == [17] * ROWS
    env.reset()
    assert env.env.episodes.tolist() != [17] * ROWS
    env.set_options({"episod": 1})
    with pytest.raises(UsageError, match="no option 'episod'"):
        env.reset()


def test_exact_integers_are_told_where_they_are_asked_for() -> None:
    env = RowsVecEnv(free(), exact_info=True)
    env.reset()
    assert env.reset_infos[0]["seen"] == 0
    for step in range(1, 5):
        infos = env.step(np.zeros(ROWS, dtype=np.int64))[3]
        assert [info["seen"] for info in infos] == [step] * ROWS
    assert env.reset_infos[0]["seen"] == 0
    assert not RowsVecEnv(free()).reset_infos[0]


def test_a_state_survives_json_and_brings_rows_to_where_others_stand_in_the_middle_of_an_episode() -> None:
    rng = np.random.default_rng(3)
    first = RowsVecEnv(free(horizon=37), resumable=True)
    first.seed(5)
    first.reset()
    for _ in range(60):
        seen = first.step(rng.integers(3, size=ROWS))[0]
    kept = json.loads(json.dumps(first.state()))
    second = RowsVecEnv(free(horizon=37))
    np.testing.assert_array_equal(second.restore(kept), seen)
    assert second.play.returns.tolist() == first.play.returns.tolist()
    for _ in range(60):
        given = rng.integers(3, size=ROWS)
        one, other = first.step(given), second.step(given)
        for mine, its in zip(one[:3], other[:3], strict=True):
            np.testing.assert_array_equal(mine, its)
    with pytest.raises(UsageError, match="state of 5 rows does not fit 2"):
        RowsVecEnv(free(2)).restore(kept)


def test_rows_keep_no_actions_unless_they_are_to_be_resumed() -> None:
    env = RowsVecEnv(free())
    env.reset()
    with pytest.raises(UsageError, match="cannot be resumed"):
        env.state()


def test_a_state_of_another_environment_is_refused() -> None:
    env = RowsVecEnv(free(), resumable=True)
    env.reset()
    for _ in range(3):
        env.step(np.zeros(ROWS, dtype=np.int64))
    with pytest.raises(UsageError, match="gave another outcome"):
        RowsVecEnv(free(horizon=2)).restore(env.state())


@pytest.fixture
def _one_thread() -> Iterator[None]:
    """Small networks on busy cores: torch's threads would wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_one_thread")
@pytest.mark.slow
def test_ppo_learns_the_same_twice_from_the_same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVS, "free", FREE)

    def trained() -> tuple[PPO, float]:
        env = make_sb3("free", 16, horizon=12)
        model = PPO("MlpPolicy", env, n_steps=48, batch_size=256, seed=4, device="cpu", learning_rate=2e-3).learn(9_000)
        env.seed(1)
        mean, _ = evaluate_policy(model, env, n_eval_episodes=32)
        return model, float(mean)  # type: ignore[arg-type]

    (first, mean), (second, again) = trained(), trained()
    assert mean == again
    assert mean > 0.6, "guessing gives a third"
    for name, value in weights(first).items():
        np.testing.assert_array_equal(value, weights(second)[name])


def test_what_rows_share_can_be_asked_but_not_set() -> None:
    env = RowsVecEnv(free())
    assert env.get_attr("name") == ["free"] * ROWS
    assert env.env_is_wrapped(Monitor) == [True] * ROWS
    assert env.env_is_wrapped(gymnasium.wrappers.TimeLimit) == [False] * ROWS
    assert not env.has_attr("action_masks")
    with pytest.raises(UsageError, match="'horizon' cannot be set"):
        env.set_attr("horizon", 3)
