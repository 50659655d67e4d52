"""Training with stable-baselines3 learns, is reproducible, and resumes exactly after it was killed."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3", reason="`pip install 'mayavi-sim[rl]'` installs stable-baselines3")

import torch

from mayavi.errors import CheckpointError, ModelMismatch, UsageError
from mayavi.rl.config import TrainConfig
from mayavi.rl.evaluation.play import play
from mayavi.rl.models import Model, open_model
from mayavi.rl.training.progress import TrainProgress
from mayavi.rl.training.train import TrainedModel, train
from tests.rl import chase_env
from tests.rl.training.train_process import weights_digest

assert chase_env.ChaseEnv
CHASE = {"env": "chase", "framework": "sb3", "seed": 3}
NORMALISED = {"normalize_observations": True, "normalize_rewards": True}
SMALL = {"num_envs": 16, "rollout_steps": 16, "minibatch_size": 64, "epochs": 2, "network": [16, 16]}


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> tuple[TrainedModel, Path, list[TrainProgress]]:
    """Training of 12,288 steps, its models folder, and its progress reports."""
    models, reports = tmp_path_factory.mktemp("models"), []
    config = TrainConfig.of(CHASE, {"timesteps": 12_288, "gamma": 0.95, "learning_rate": 1e-3})
    return train(config, models=models, progress=reports.append), models, reports


@pytest.mark.slow(4)
def test_it_learns(learned: tuple[TrainedModel, Path, list[TrainProgress]]) -> None:
    trained, models, _ = learned
    model = open_model(trained.run_id, models)
    env = model.make_env(256, split="test")
    better = play(env, model.policy(), range(256)).rewards.mean()
    baseline = play(env, "noop", range(256)).rewards.mean()
    assert better > baseline + 0.2


@pytest.mark.slow(0.1)  # and the training
def test_it_tells_how_far_it_is(learned: tuple[TrainedModel, Path, list[TrainProgress]]) -> None:
    trained, _, reports = learned
    steps = [each.steps for each in reports]
    assert steps == sorted(steps)
    assert steps[-1] == trained.steps == 12_288
    assert reports[-1].episodes == trained.episodes > 1_000
    assert reports[-1].mean_reward == pytest.approx(trained.mean_reward)
    assert "mean reward" in reports[-1].note


@pytest.mark.slow(0.1)  # and the training
def test_the_run_says_all_that_it_depends_on(learned: tuple[TrainedModel, Path, list[TrainProgress]]) -> None:
    trained, models, _ = learned
    record = json.loads((trained.path / "run.json").read_text())
    assert (record["status"], record["env"], record["steps"]) == ("finished", "chase", 12_288)
    assert TrainConfig.of(record["config"]) == trained.config
    assert {"mayavi", "python", "numpy", "torch", "gymnasium", "stable_baselines3", "sb3_contrib"} <= set(
        record["versions"]
    )
    assert record["world"] == "ethereum"
    assert record["world_digest"] == open_model(trained.run_id, models).make_env(1).world_digest
    assert record["memory"]["parameters"] > 0
    assert record["observation_space"] == {"kind": "Box", "shape": [2], "low": [-1.0, -1.0], "high": [1.0, 1.0]}


@pytest.mark.slow(0.1)  # and the training
def test_there_is_a_checkpoint_every_tenth_and_each_plays(
    learned: tuple[TrainedModel, Path, list[TrainProgress]],
) -> None:
    trained, models, _ = learned
    model = open_model(trained.run_id, models)
    names = [each.name for each in model.checkpoints()]
    assert names == ["2048", "4096", "6144", "8192", "10240", "final"]
    assert [each.resumable for each in model.checkpoints()] == [False] * 5 + [True]
    seen = model.make_env(4).observation_space.sample()[None]
    for name in names:
        actions, state = model.policy(name).actions(seen)
        assert actions.shape == (1,)
        assert state is None
    assert open_model(f"{trained.run_id}:4096", models).checkpoint().steps == 4096
    assert open_model(trained.path / "checkpoints" / "4096", models).checkpoint().steps == 4096
    with pytest.raises(UsageError, match="has no checkpoint '4097'"):
        open_model(f"{trained.run_id}:4097", models)


@pytest.mark.slow(0.1)  # and the training
def test_the_curves_are_logged_for_tensorboard(learned: tuple[TrainedModel, Path, list[TrainProgress]]) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    logs = EventAccumulator(str(learned[0].path / "logs"))
    logs.Reload()
    rewards = logs.Scalars("rollout/ep_rew_mean")
    assert rewards[-1].step == 12_288
    assert rewards[-1].value > rewards[0].value


def test_the_callers_generators_are_left_alone(tmp_path: Path) -> None:
    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 256})
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    expected = random.random(), np.random.rand(), torch.rand(1).item()
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    trained = train(config, models=tmp_path)
    open_model(trained.run_id, tmp_path).policy()
    assert (random.random(), np.random.rand(), torch.rand(1).item()) == expected


@pytest.mark.slow(1)
def test_the_scale_of_rewards_and_the_horizon_change_what_is_trained(tmp_path: Path) -> None:
    """Settings without effect would give the same weights."""
    base = TrainConfig.of(CHASE, SMALL, {"timesteps": 512})
    digests = []
    for name, more in (("plain", {}), ("scaled", {"reward_scale": 10.0}), ("cut", {"bootstrap_at_horizon": True})):
        trained = train(TrainConfig.of(base.to_json(), more), models=tmp_path, run_id=name)
        digests.append(weights_digest(name, tmp_path))
        assert trained.mean_reward is not None
        assert -1.5 < trained.mean_reward < 0.5  # unscaled
    assert len(set(digests)) == 3


def test_neighbouring_seeds_share_no_episode() -> None:
    from mayavi.rl.training.global_rng import spread_seed

    seeds = [spread_seed(each, "sb3") for each in range(50)]
    assert min(abs(a - b) for a in seeds for b in seeds if a != b) > 65_536


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"algorithm": "dqn", "learning_starts": 100, "train_every": 4},
        {"algorithm": "sac", "learning_starts": 100, "train_every": 4, "env_config": {"actions": "continuous"}},
        NORMALISED
        | {
            "evaluate_every": 300,
            "evaluate_episodes": 16,
            "learning_rate_end": 0.0,
            "env_config": {"actions": "continuous"},
        },
        NORMALISED | {"recurrent": True, "lstm_size": 8},
    ],
    ids=["ppo", "dqn", "sac", "normalised-gaussian", "normalised-lstm"],
)
def test_the_same_seed_gives_the_same_weights_and_a_killed_training_ends_with_them(
    tmp_path: Path, settings: dict[str, Any], train_process: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    process = train_process
    anew = {} if settings else {"hash_seed": "random"}  # forks share the seed of hashes
    config = {**CHASE, **SMALL, "timesteps": 1_024, "checkpoint_every_steps": 256, **settings}
    whole = process(**anew, config=config, models=str(tmp_path), run_id="whole")
    assert whole.returncode == 0, whole.stderr
    killed = process(config=config, models=str(tmp_path), run_id="killed", die_at=700)
    assert killed.returncode == -9
    assert open_model("killed", tmp_path).record["status"] == "interrupted"
    resumed = process(**anew, config=config, models=str(tmp_path), resume="killed")
    assert resumed.returncode == 0, resumed.stderr
    first, second = (json.loads(each.stdout.splitlines()[-1]) for each in (whole, resumed))
    assert second["resumed_from"] in range(512, 700)
    assert second["exact"]
    assert not (anew and second["compiler"])  # whose import takes longer than this training
    assert [second[key] for key in ("digest", "steps", "episodes")] == [
        first[key] for key in ("digest", "steps", "episodes")
    ]
    if NORMALISED.items() <= settings.items():
        return  # the algorithms alone show that seeds differ
    other = process(config=config | {"seed": 4}, models=str(tmp_path), run_id="other")
    assert json.loads(other.stdout.splitlines()[-1])["digest"] != first["digest"]


@pytest.mark.slow(1)
def test_a_training_that_was_interrupted_saves_first_and_a_finished_one_is_trained_further(tmp_path: Path) -> None:
    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 1_024, "checkpoint_every_steps": 10_000})

    def stop(report: TrainProgress) -> None:
        if report.steps == 512:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, models=tmp_path, run_id="one", progress=stop)
    assert [each.steps for each in open_model("one", tmp_path).checkpoints()] == [512]
    assert open_model("one", tmp_path).record["status"] == "interrupted"
    resumed = train(config, models=tmp_path, resume="one")
    assert (resumed.steps, resumed.resumed_from, resumed.exact) == (1_024, 512, True)
    with pytest.raises(UsageError, match="run one is finished: 1,024 timesteps are trained") as refused:
        train(config, models=tmp_path, resume="one")
    assert "--timesteps 2048" in (refused.value.hint or "")

    longer = TrainConfig.of(config.to_json(), {"timesteps": 2_048})
    assert train(longer, models=tmp_path, resume="one").steps == 2_048
    train(longer, models=tmp_path, run_id="at-once")
    assert weights_digest("one", tmp_path) == weights_digest("at-once", tmp_path)
    assert [each.name for each in open_model("one", tmp_path).checkpoints()][-1] == "final"


@pytest.mark.slow(0.3)
def test_a_run_killed_before_its_first_checkpoint_starts_again(tmp_path: Path) -> None:
    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 512, "checkpoint_every_steps": 10_000})

    def die(report: TrainProgress) -> None:
        raise RuntimeError("gone")

    with pytest.raises(RuntimeError):
        train(config, models=tmp_path, run_id="one", progress=die)
    assert open_model("one", tmp_path).record["status"] == "failed"
    assert train(config, models=tmp_path, resume="one").steps == 512
    train(config, models=tmp_path, run_id="two")
    assert weights_digest("one", tmp_path) == weights_digest("two", tmp_path)


def test_what_a_run_was_begun_with_cannot_be_changed_when_it_is_resumed(tmp_path: Path) -> None:
    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 256})
    train(config, models=tmp_path, run_id="one")
    with pytest.raises(UsageError, match="run one has seed 3, and 4 is asked for"):
        train(TrainConfig.of(config.to_json(), {"seed": 4, "timesteps": 512}), models=tmp_path, resume="one")
    with pytest.raises(UsageError, match="run one exists already"):
        train(config, models=tmp_path, run_id="one")
    record = json.loads((tmp_path / "one" / "run.json").read_text())
    longer = TrainConfig.of(config.to_json(), {"timesteps": 512})
    for key, value, message in (
        ("versions", record["versions"] | {"stable_baselines3": "1.0"}, "was trained with stable_baselines3 1.0"),
        ("world_digest", "0" * 64, "was trained on another world"),
    ):
        (tmp_path / "one" / "run.json").write_text(json.dumps(record | {key: value}))
        with pytest.raises(UsageError, match=message):
            train(longer, models=tmp_path, resume="one")


@pytest.mark.parametrize(
    ("algorithm", "actions", "message"),
    [("sac", "discrete", "SAC needs continuous actions"), ("dqn", "continuous", "DQN needs discrete actions")],
)
def test_an_algorithm_that_cannot_act_there_is_refused(
    tmp_path: Path, algorithm: str, actions: str, message: str
) -> None:
    config = TrainConfig.of(CHASE, {"algorithm": algorithm, "env_config": {"actions": actions}})
    with pytest.raises(UsageError, match=message) as refused:
        train(config, models=tmp_path)
    assert "--set actions=" in (refused.value.hint or "")


@pytest.mark.slow(0.3)
def test_a_policy_loads_after_the_module_of_its_learning_rate_schedule_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mayavi.rl.sb3 import algorithm

    older: Any = ModuleType("older_module")
    older.Schedule = type("Schedule", (algorithm.LinearSchedule,), {"__module__": "older_module"})
    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 256, "learning_rate_end": 0.0})
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "older_module", older)
        patch.setattr(algorithm, "LinearSchedule", older.Schedule)
        train(config, models=tmp_path, run_id="one")
    assert "older_module" not in sys.modules
    assert open_model("one", tmp_path).policy()
    longer = TrainConfig.of(config.to_json(), {"timesteps": 512})
    resumed = train(longer, models=tmp_path, resume="one")
    assert (resumed.steps, resumed.exact) == (512, False)
    assert resumed.reason == "learning_rate_end follows from timesteps, which were 256 and are 512"


@pytest.mark.slow(0.1)  # and the training
def test_a_model_plays_only_what_it_was_trained_on(
    learned: tuple[TrainedModel, Path, list[TrainProgress]], tmp_path: Path
) -> None:
    trained, models, _ = learned
    model = open_model(trained.run_id, models)
    with pytest.raises(ModelMismatch, match="it observes 2 numbers, and this environment has 3 numbers"):
        model.make_env(2, watches=3)
    with pytest.raises(ModelMismatch, match="it does one of 3, and this environment has 1 number"):
        model.make_env(2, actions="continuous")
    with pytest.raises(ModelMismatch, match=r"trained on observations of shape \(2,\), not \(3,\)"):
        model.policy().actions(np.zeros((1, 3), dtype=np.float32))
    with pytest.raises(UsageError, match="needs a random generator"):
        model.policy().actions(np.zeros((1, 2), dtype=np.float32), deterministic=False)


@pytest.mark.slow(0.1)  # and the training
def test_a_checkpoint_of_another_run_is_refused(
    learned: tuple[TrainedModel, Path, list[TrainProgress]], tmp_path: Path
) -> None:
    import shutil

    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 256, "env_config": {"watches": 3}})
    other = train(config, models=tmp_path, run_id="other")
    shutil.rmtree(other.path / "final")
    shutil.copytree(learned[0].path / "final", other.path / "final")
    with pytest.raises(ModelMismatch, match="checkpoint final has the observation space '2 numbers'"):
        Model(open_model("other", tmp_path).folder).policy()
    (other.path / "final" / "model.zip").write_bytes(b"no zip")
    with pytest.raises(CheckpointError, match=r"model.zip of '.*' is not what was written"):
        open_model("other", tmp_path).policy()


@pytest.mark.slow(0.4)
@pytest.mark.parametrize("settings", [{}, {"recurrent": True, "lstm_size": 8}], ids=["mlp", "lstm"])
def test_a_policy_acts_over_rows_as_the_framework_does_row_by_row(tmp_path: Path, settings: dict[str, Any]) -> None:
    from mayavi.rl.sb3.algorithm import algorithm_class

    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 512}, settings)
    trained = train(config, models=tmp_path)
    policy = open_model(trained.run_id, tmp_path).policy()
    model = algorithm_class(config).load(trained.path / "final" / "model.zip", device="cpu")
    rng = np.random.default_rng(5)
    seen = rng.uniform(-1, 1, (6, 5, 2)).astype(np.float32)
    ours, state = [], None
    for step in seen:
        actions, state = policy.actions(step, state)
        ours.append(actions)
    for row in range(5):
        theirs, memory = [], None
        for at, step in enumerate(seen):
            action, memory = model.predict(
                step[row], state=memory, episode_start=np.array([at == 0]), deterministic=True
            )
            theirs.append(int(action))
        assert [int(each[row]) for each in ours] == theirs
    if state is not None:  # a row that restarts is zeroed, the others continue
        state[2] = 0
        again, _ = policy.actions(seen[0], state)
        assert again[2] == ours[0][2]


@pytest.mark.slow(0.1)  # and the training
def test_chance_comes_from_the_generator_that_is_given_and_follows_the_distribution(
    learned: tuple[TrainedModel, Path, list[TrainProgress]],
) -> None:
    trained, models, _ = learned
    policy = open_model(f"{trained.run_id}:2048", models).policy()
    seen = np.tile(np.array([[0.05, 0.5]], dtype=np.float32), (20_000, 1))
    drawn, again = (policy.actions(seen, deterministic=False, rng=np.random.default_rng(7))[0] for _ in range(2))
    assert (drawn == again).all()
    logits = policy.distribution(seen[:1], None)[0].logits[0]  # type: ignore[union-attr]
    expected = np.exp(logits) / np.exp(logits).sum()
    assert np.bincount(drawn, minlength=3) / len(drawn) == pytest.approx(expected, abs=0.02)
