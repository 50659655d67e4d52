"""Trainings with RLlib on the Ray of all tests. `test_trainer.py` runs these in a process of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from mayavi.errors import UsageError, WorkerError
from mayavi.rl.config import TrainConfig
from mayavi.rl.models import open_model
from mayavi.rl.rllib.ray_connection import ray_for
from mayavi.rl.training.progress import TrainProgress
from mayavi.rl.training.train import train
from tests.rl import chase_env
from tests.rl.training.train_process import weights_digest

assert chase_env.ChaseEnv
CHASE = {"env": "chase", "framework": "rllib", "seed": 3, "runners": 0}
SMALL = {"num_envs": 16, "rollout_steps": 16, "minibatch_size": 64, "epochs": 2, "network": [16, 16], "lstm_size": 8}
ACTIONS = {"env_config": {"actions": "continuous"}}
REPLAYED = {
    "learning_starts": 30,
    "train_every": 4,
    "gradient_steps": 2,
    "timesteps": 192,
    "checkpoint_every_steps": 64,
}
"""Algorithms that learn every few steps, which takes longer: they learn before the first checkpoint and after it."""
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", autouse=True)
def ray() -> Iterator[Any]:
    with ray_for(2, None) as started:
        yield started
        assert started.is_initialized()  # a training leaves a Ray that it did not start


class DiedError(Exception):
    """Stands for a killed training: nothing is saved."""


def dying(at: int) -> Any:
    def progress(now: TrainProgress) -> None:
        if now.steps >= at:
            raise DiedError

    return progress


@pytest.mark.parametrize(
    "settings",
    [
        {
            "normalize_observations": True,
            "normalize_rewards": True,
            "evaluate_every": 300,
            "recurrent": True,
            "target_kl": 0.01,
        },
        REPLAYED | {"algorithm": "dqn", "target_update_every": 40},
        REPLAYED | {"algorithm": "sac", **ACTIONS},
    ],
    ids=["normalised-lstm", "dqn", "sac"],
)
def test_a_training_that_died_ends_with_the_weights_of_one_that_did_not(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 768, "checkpoint_every_steps": 256}, settings)
    whole = train(config, models=tmp_path, run_id="whole")
    with pytest.raises(DiedError):
        train(config, models=tmp_path, run_id="died", progress=dying(config.timesteps * 2 // 3))
    assert open_model("died", tmp_path).record["status"] == "failed"
    resumed = train(config, models=tmp_path, resume="died")
    assert resumed.resumed_from
    assert resumed.exact
    assert (resumed.steps, resumed.episodes) == (whole.steps, whole.episodes)
    assert weights_digest("died", tmp_path) == weights_digest("whole", tmp_path)
    assert resumed.mean_reward == whole.mean_reward
    assert resumed.best == whole.best
    assert bool(whole.best) == bool(config.evaluate_every)


def test_cql_learns_from_recorded_rollouts_and_goes_on_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mayavi.rl.evaluation.play import play
    from mayavi.rl.rllib import offline
    from mayavi.rl.rollouts.recording import RolloutSettings, record_baseline

    monkeypatch.setattr(offline, "UPDATES", 25)
    data = tmp_path / "random.parquet"
    record_baseline("chase", "random", data, RolloutSettings(300), config={"actions": "continuous", "split": "train"})
    settings = {"algorithm": "cql", "rollouts": str(data), "learning_rate": 1e-2, "gamma": 0.9, "network": [32]}
    settings |= {"minibatch_size": 64, "conservative_weight": 0.1}
    config = TrainConfig.of(CHASE, ACTIONS, settings, {"timesteps": 100, "checkpoint_every_steps": 50})
    whole = train(config, models=tmp_path, run_id="whole")
    assert whole.record["rollouts"]["episodes"] == 300
    with pytest.raises(DiedError):
        train(config, models=tmp_path, run_id="died", progress=dying(75))
    kept = data.read_bytes()
    record_baseline("chase", "random", data, RolloutSettings(9), config={"actions": "continuous", "split": "train"})
    with pytest.raises(UsageError, match="is not the file that run died was trained on"):
        train(config, models=tmp_path, resume="died")
    data.write_bytes(kept)
    resumed = train(config, models=tmp_path, resume="died")
    assert (resumed.resumed_from, resumed.exact, resumed.steps) == (50, True, 100)
    assert weights_digest("died", tmp_path) == weights_digest("whole", tmp_path)
    model = open_model("whole", tmp_path)
    env = model.make_env(128, split="test")
    learned = play(env, model.policy(), range(128)).rewards.mean()
    assert learned > play(env, "random", range(128)).rewards.mean() + 0.2
    parameters = sum(each.numel() for each in model.policy().module.parameters())  # type: ignore[attr-defined]
    assert 0 < parameters <= model.record["memory"]["parameters"]


def test_connectors_keep_the_arguments_of_their_constructors() -> None:
    """Which RLlib looks up in the frame of the constructor: those of a class of its own, and of one that inherits."""
    from ray.rllib.connectors import connector_v2

    from mayavi.rl.rllib.caller_frames import find_callers_quickly

    class Own(connector_v2.ConnectorV2):  # type: ignore[misc]  # no types there
        def __init__(self, size: int, *, sign: int = -1) -> None:
            twice = 2 * size
            super().__init__(None, twice)

        def __call__(self, **_: Any) -> None:
            raise NotImplementedError

    class Inherited(Own):
        pass

    find_callers_quickly()
    find_callers_quickly()
    assert Own(3)._ctor_kwargs == {"size": 3, "sign": -1}
    assert set(Inherited(3)._ctor_kwargs) == {"input_observation_space", "input_action_space"}


def test_what_was_trained_plays_and_is_logged_and_a_row_of_its_memory_is_its_own(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from mayavi.rl.evaluation.play import play

    trained = train(TrainConfig.of(CHASE, {"timesteps": 8_000, "learning_rate": 1e-3, "gamma": 0.95}), models=tmp_path)
    model = open_model(trained.run_id, tmp_path)
    env = model.make_env(256, split="test")
    assert play(env, model.policy(), range(256)).rewards.mean() > play(env, "noop", range(256)).rewards.mean() + 0.2
    logs = EventAccumulator(str(trained.path / "logs"))
    logs.Reload()
    assert logs.Scalars("env_runners/episode_return_mean")[-1].step == trained.steps
    assert not list(trained.path.glob("**/*.partial"))
    parameters = sum(each.numel() for each in model.policy().module.parameters())  # type: ignore[attr-defined]
    assert parameters == model.record["memory"]["parameters"]

    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 300, "recurrent": True, "lstm_size": 8})
    remembering = open_model(train(config, models=tmp_path).run_id, tmp_path)
    policy: Any = remembering.policy()
    assert sum(each.numel() for each in policy.module.parameters()) == remembering.record["memory"]["parameters"]
    seen = np.random.default_rng(5).uniform(-1, 1, (6, 5, 2)).astype(np.float32)
    together, state = [], None
    for step in seen:
        found, state = policy.distribution(step, state)
        together.append(found.logits)
    for row in range(5):
        memory = None
        for at, step in enumerate(seen):
            alone, memory = policy.distribution(step[row : row + 1], memory)
            assert alone.logits[0] == pytest.approx(together[at][row], abs=1e-5)
    state[2] = 0  # it begins anew
    assert policy.distribution(seen[0], state)[0].logits[2] == pytest.approx(together[0][2], abs=1e-5)


def test_a_lost_runner_ends_the_training_and_another_number_of_them_goes_on_with_new_episodes(
    ray: Any, tmp_path: Path
) -> None:
    config = TrainConfig.of(
        CHASE, SMALL, {"env": "aave", "runners": 1, "timesteps": 768, "checkpoint_every_steps": 256}
    )

    def kill(told: TrainProgress) -> None:
        if told.steps >= 512:
            for process in processes_of(ray):
                if "SingleAgentEnvRunner" in " ".join(process.cmdline()):
                    process.kill()

    with pytest.raises(WorkerError, match="a runner of the training is gone") as lost:
        train(config, models=tmp_path, run_id="one", progress=kill)
    assert "--resume" in (lost.value.hint or "")
    assert open_model("one", tmp_path).record["status"] == "failed"
    resumed = train(TrainConfig.of(config.to_json(), {"runners": 0}), models=tmp_path, resume="one")
    assert (resumed.steps, resumed.exact) == (768, False)
    (note,) = open_model("one", tmp_path).record["resumes"]
    assert (
        note["reason"] == "rollouts were played by 1 runner before and by the learning process now: episodes start anew"
    )
    assert note["reason"] == resumed.reason


def processes_of(ray: Any) -> list[psutil.Process]:
    """Processes that the nodes of the cluster have started."""
    address = f"--gcs-address={ray.get_runtime_context().gcs_address}"
    nodes = [each for each in psutil.process_iter(["cmdline"]) if address in (each.info["cmdline"] or ())]
    return [child for node in nodes for child in node.children()]
