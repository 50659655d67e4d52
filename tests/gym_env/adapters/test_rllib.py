"""The environments as RLlib makes and steps them, without a cluster.

RLlib is imported by the tests that use it: every worker collects this file, and one runs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks.subjects.free_env import FREE
from mayavi.errors import UnknownName
from mayavi.gym_env.adapters.rllib import create, environment, register, vectorize_mode
from mayavi.gym_env.adapters.single import MayaviEnv
from mayavi.gym_env.adapters.vector import MayaviVectorEnv
from mayavi.gym_env.registry import ENVS

if TYPE_CHECKING:
    from ray.rllib.algorithms.ppo import PPOConfig

ROWS = 6


@pytest.fixture(autouse=True)
def _free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVS, "free", FREE)


def config(**settings: Any) -> PPOConfig:
    from ray.rllib.algorithms.ppo import PPOConfig

    return (
        PPOConfig()
        .environment(**environment("free", **settings))
        .env_runners(gym_env_vectorize_mode=vectorize_mode("free"), num_env_runners=0, num_envs_per_env_runner=ROWS)
        .debugging(seed=3)
    )


def test_a_name_that_is_none_is_refused_before_ray_hears_of_it() -> None:
    with pytest.raises(UnknownName, match="'fre'"):
        register("fre")


def test_what_is_made_is_a_batch_where_rllib_asks_for_one_and_a_single_environment_elsewhere() -> None:
    batch = create("free", {"horizon": 5, "num_envs": ROWS})
    assert isinstance(batch, MayaviVectorEnv)
    assert batch.num_envs == ROWS
    assert batch.env.config.horizon == 5
    assert batch.reset(seed=1)[1] == {}
    assert isinstance(create("free", {}), MayaviEnv)
    assert "seen" in create("free", {"num_envs": 1, "exact_info": True}).reset()[1]


@pytest.mark.slow(1)
@pytest.mark.filterwarnings("ignore:.*Overriding environment rllib-single-agent-env-v0")  # RLlib registers it each time
def test_rllib_samples_whole_episodes_that_are_those_of_the_rows() -> None:
    from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner

    runner = SingleAgentEnvRunner(config=config(horizon=5))
    samples = runner.sample(num_episodes=2 * ROWS, random_actions=True)
    assert len(samples) >= 2 * ROWS
    assert isinstance(runner.env.unwrapped, MayaviVectorEnv)
    replayed = create("free", {"horizon": 5, "num_envs": 1})
    for sample in samples:
        assert len(sample) == 5
        assert sample.is_truncated
        assert not sample.is_terminated
    first = samples[0]
    seen, _ = replayed.reset(seed=runner._seed)
    np.testing.assert_array_equal(seen[0], first.get_observations(0))
    for at, action in enumerate(first.get_actions()):
        seen, reward, *_ = replayed.step(np.array([action]))
        np.testing.assert_array_equal(seen[0], first.get_observations(at + 1))
        assert reward[0] == first.get_rewards(at)
