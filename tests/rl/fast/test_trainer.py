"""Training with our own PPO learns, is reproducible, and resumes exactly after it was killed."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed; `pip install 'mayavi-sim[rl]'` installs it")

import torch

from mayavi.errors import CheckpointError, MayaviError, ModelMismatch, UsageError
from mayavi.gym_env import make_rows
from mayavi.rl.config import TrainConfig
from mayavi.rl.evaluation.play import play
from mayavi.rl.models import open_model
from mayavi.rl.training.progress import TrainProgress
from mayavi.rl.training.train import TrainedModel, train
from tests.rl import chase_env
from tests.rl.training.train_process import weights_digest

assert chase_env.ChaseEnv
CHASE = {"env": "chase", "framework": "fast", "seed": 3}
NORMALISED = {"normalize_observations": True, "normalize_rewards": True}
SMALL = {"num_envs": 16, "rollout_steps": 16, "minibatch_size": 64, "epochs": 2, "network": [16, 16]}
CONTINUOUS = {"env_config": {"actions": "continuous"}}


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> tuple[TrainedModel, Path, list[TrainProgress]]:
    """Training of 12,288 steps, its models folder, and its progress reports."""
    models, reports = tmp_path_factory.mktemp("models"), []
    config = TrainConfig.of(CHASE, {"timesteps": 12_288, "gamma": 0.95, "learning_rate": 1e-3})
    return train(config, models=models, progress=reports.append), models, reports


def gain(trained: TrainedModel, models: Path) -> float:
    """Mean reward beyond that of doing nothing, on the test split."""
    model = open_model(trained.run_id, models)
    idle = play(make_rows("chase", 256, split="test"), "noop", range(256)).rewards.mean()
    return float(play(model.make_env(256, split="test"), model.policy(), range(256)).rewards.mean() - idle)


def test_it_learns(learned: tuple[TrainedModel, Path, list[TrainProgress]]) -> None:
    trained, models, reports = learned
    assert gain(trained, models) > 0.2
    assert [each.steps for each in reports] == list(range(2_048, 12_289, 2_048))
    assert reports[-1].episodes == trained.episodes > 1_000
    assert reports[-1].mean_reward == trained.mean_reward


@pytest.mark.slow(2)
def test_it_learns_continuous_actions_with_normalised_observations_and_rewards(tmp_path: Path) -> None:
    config = TrainConfig.of(CHASE, CONTINUOUS, NORMALISED, {"timesteps": 16_384, "gamma": 0.95, "learning_rate": 1e-3})
    assert gain(train(config, models=tmp_path), tmp_path) > 0.2


def test_the_folder_is_that_of_other_frameworks(learned: tuple[TrainedModel, Path, list[TrainProgress]]) -> None:
    from mayavi.rl.training_runs.curves import read_curves

    trained, models, _ = learned
    model = open_model(trained.run_id, models)
    assert (model.record["status"], model.record["device"]) == ("finished", "cpu")
    assert {"mayavi", "python", "numpy", "torch", "gymnasium"} == set(model.record["versions"])
    assert [each.name for each in model.checkpoints()] == ["2048", "4096", "6144", "8192", "10240", "final"]
    assert [each.resumable for each in model.checkpoints()] == [False] * 5 + [True]
    curves = read_curves(trained.path / "logs") or {}
    rewards = curves["rollout/ep_rew_mean"]
    assert list(rewards) == list(range(2_048, 12_289, 2_048))
    assert rewards[12_288] == pytest.approx(trained.mean_reward)
    assert curves["train/approx_kl"][12_288] > 0
    with pytest.raises(ModelMismatch, match="it observes 2 numbers, and this environment has 3 numbers"):
        model.make_env(2, watches=3)


def test_a_policy_draws_from_the_generator_that_is_given(
    learned: tuple[TrainedModel, Path, list[TrainProgress]],
) -> None:
    policy = open_model(f"{learned[0].run_id}:2048", learned[1]).policy()
    seen = np.tile(np.array([[0.05, 0.5]], dtype=np.float32), (20_000, 1))
    drawn, again = (policy.actions(seen, deterministic=False, rng=np.random.default_rng(7))[0] for _ in range(2))
    assert (drawn == again).all()
    logits = policy.distribution(seen[:1], None)[0].logits[0]  # type: ignore[union-attr]
    assert np.bincount(drawn, minlength=3) / len(drawn) == pytest.approx(np.exp(logits), abs=0.02)


def test_the_callers_generators_are_left_alone_and_do_not_matter(tmp_path: Path) -> None:
    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 512})
    for seed in (1, 2):
        random.seed(seed), np.random.seed(seed), torch.manual_seed(seed)
        expected = random.random(), np.random.rand(), torch.rand(1).item()
        random.seed(seed), np.random.seed(seed), torch.manual_seed(seed)
        train(config, models=tmp_path, run_id=f"seed-{seed}")
        assert (random.random(), np.random.rand(), torch.rand(1).item()) == expected
    assert weights_digest("seed-1", tmp_path) == weights_digest("seed-2", tmp_path)


@pytest.mark.parametrize(
    "changed",
    [
        {"seed": 4},
        {"gamma": 0.5},
        {"reward_scale": 10.0},
        {"bootstrap_at_horizon": True},
        {"normalize_observations": True},
        {"normalize_rewards": True},
        {"entropy_coefficient": 0.1},
        {"value_coefficient": 0.1},
        {"max_grad_norm": 0.01},
        {"gae_lambda": 0.5},
        {"clip_range": 0.01},
        {"target_kl": 1e-9},
        {"learning_rate_end": 0.0},
        {"activation": "relu"},
    ],
    ids=lambda each: next(iter(each)),
)
def test_every_setting_changes_what_is_trained(tmp_path: Path, changed: dict[str, Any]) -> None:
    for name, more in (("plain", {}), ("changed", changed)):
        train(TrainConfig.of(CHASE, SMALL, {"timesteps": 512}, more), models=tmp_path, run_id=name)
    assert weights_digest("plain", tmp_path) != weights_digest("changed", tmp_path)


@pytest.mark.slow(0.5)
@pytest.mark.parametrize("settings", [{}, CONTINUOUS | NORMALISED], ids=["discrete", "continuous-normalised"])
def test_an_interrupted_training_ends_with_the_weights_of_an_uninterrupted_one(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 1_024, "checkpoint_every_steps": 10_000}, settings)

    def stop(report: TrainProgress) -> None:
        if report.steps == 512:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, models=tmp_path, run_id="one", progress=stop)
    assert open_model("one", tmp_path).record["status"] == "interrupted"
    resumed = train(config, models=tmp_path, resume="one")
    assert (resumed.steps, resumed.resumed_from, resumed.exact) == (1_024, 512, True)
    whole = train(config, models=tmp_path, run_id="at-once")
    assert weights_digest("one", tmp_path) == weights_digest("at-once", tmp_path)
    assert (resumed.episodes, resumed.mean_reward) == (whole.episodes, whole.mean_reward)
    for file in ("optimizer.pt", "rows.json", "chance.json"):
        one, other = ((tmp_path / run / "final" / file).read_bytes() for run in ("one", "at-once"))
        assert one == other

    with pytest.raises(UsageError, match="run one is finished: 1,024 timesteps are trained"):
        train(config, models=tmp_path, resume="one")
    longer = TrainConfig.of(config.to_json(), {"timesteps": 1_536})
    train(longer, models=tmp_path, resume="one")
    train(longer, models=tmp_path, run_id="longer-at-once")
    assert weights_digest("one", tmp_path) == weights_digest("longer-at-once", tmp_path)


@pytest.mark.slow(0.3)
def test_an_interruption_in_the_last_rollout_keeps_it_and_the_run_is_finished(tmp_path: Path) -> None:
    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 512})

    def stop(report: TrainProgress) -> None:
        if report.steps == 512:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, models=tmp_path, run_id="one", progress=stop)
    record = open_model("one", tmp_path).record
    assert (record["status"], record["steps"]) == ("finished", 512)
    train(config, models=tmp_path, run_id="whole")
    assert weights_digest("one", tmp_path) == weights_digest("whole", tmp_path)


@pytest.mark.slow(0.3)
def test_a_finished_run_is_trained_further_beside_a_checkpoint_of_its_last_step(tmp_path: Path) -> None:
    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 256})
    done = train(config, models=tmp_path, run_id="one")
    shutil.copytree(done.path / "final", done.path / "checkpoints" / "256")
    further = train(TrainConfig.of(config.to_json(), {"timesteps": 512}), models=tmp_path, resume="one")
    assert (further.steps, further.resumed_from, further.exact) == (512, 256, True)


@pytest.mark.slow
def test_a_killed_training_ends_with_the_weights_of_an_uninterrupted_one(
    tmp_path: Path, train_process: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    config = {**CHASE, **SMALL, **CONTINUOUS, **NORMALISED, "timesteps": 1_024, "checkpoint_every_steps": 256}
    config |= {"evaluate_every": 300, "evaluate_episodes": 16, "learning_rate_end": 0.0}
    whole = train_process(hash_seed="random", config=config, models=str(tmp_path), run_id="whole")
    assert whole.returncode == 0, whole.stderr
    assert train_process(config=config, models=str(tmp_path), run_id="killed", die_at=700).returncode == -9
    resumed = train_process(hash_seed="random", config=config, models=str(tmp_path), resume="killed")
    assert resumed.returncode == 0, resumed.stderr
    first, second = (json.loads(each.stdout.splitlines()[-1]) for each in (whole, resumed))
    assert second["resumed_from"] in range(512, 700)
    assert second["exact"]
    assert [second[key] for key in ("digest", "episodes")] == [first[key] for key in ("digest", "episodes")]
    best = [open_model(run, tmp_path).record["best"] for run in ("whole", "killed")]
    assert best[0] == best[1] is not None


def test_weights_that_are_no_longer_finite_end_the_training(tmp_path: Path) -> None:
    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 512, "learning_rate": 1.0, "reward_scale": 1e9})
    with pytest.raises(MayaviError, match="no longer finite after") as failed:
        train(TrainConfig.of(config.to_json(), {"value_coefficient": 1e38}), models=tmp_path, run_id="one")
    assert "learning_rate" in (failed.value.hint or "")
    assert open_model("one", tmp_path).record["status"] == "failed"


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    from mayavi.rl.policy_loading import load_policy

    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 256})
    trained = train(config, models=tmp_path)
    checkpoint = open_model(trained.run_id, tmp_path).checkpoint()
    with pytest.raises(CheckpointError, match="cannot be loaded"):
        load_policy(TrainConfig.of(config.to_json(), {"network": [8]}), checkpoint)


@pytest.mark.slow(4)
def test_it_needs_no_other_framework_and_no_tensorboard(tmp_path: Path) -> None:
    script = """
import sys
absent = "ray stable_baselines3 sb3_contrib tensorboard scipy matplotlib modal pandas pyarrow"
sys.modules |= dict.fromkeys(absent.split())
import warnings; warnings.simplefilter("ignore")
import tests.rl.chase_env
from pathlib import Path
from mayavi.rl.config import TrainConfig
from mayavi.rl.training.train import train
from mayavi.rl.evaluation.play import play
from mayavi.rl.models import open_model
settings = {"env": "chase", "framework": "fast", "num_envs": 8, "rollout_steps": 8, "minibatch_size": 64}
train(TrainConfig.of(settings, {"timesteps": 64}), models=Path(sys.argv[1]), run_id="one")
model = open_model("one", Path(sys.argv[1]))
print(len(play(model.make_env(4, split="test"), model.policy(), range(4)).rewards))
"""
    ran = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.strip()) == (0, "4"), ran.stderr
