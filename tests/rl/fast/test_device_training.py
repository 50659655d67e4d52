"""Training with rows on a device: the same rules as on the processor, exact resuming, and a device that fails."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed; `pip install 'mayavi-sim[rl]'` installs it")

import torch

import mayavi.rl.training.train as train_module
from mayavi import _kernel
from mayavi.errors import DeviceLost, UsageError
from mayavi.gym_env import make_rows
from mayavi.gym_env.episodes import EPISODES
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import make_training_rows
from mayavi.rl.evaluation.play import play
from mayavi.rl.fast import device_rows
from mayavi.rl.fast.device_rows import DeviceTrainingRows, start_table
from mayavi.rl.fast.ppo import PPO
from mayavi.rl.fast.rows import TrainingRows
from mayavi.rl.models import open_model
from mayavi.rl.training.normaliser import first_normaliser
from mayavi.rl.training.progress import TrainProgress
from tests.gym_env.stand_in_device_rows import StandInDeviceRows
from tests.rl import chase_env
from tests.rl.training.train_process import weights_digest

assert chase_env.__name__
train = train_module.train
CHASE = {"env": "chase", "framework": "fast", "seed": 3, "device": "emulated", "start_table": 100}
NORMALISED = {"normalize_observations": True, "normalize_rewards": True, "bootstrap_at_horizon": True}
SMALL = {"num_envs": 16, "rollout_steps": 12, "minibatch_size": 50, "epochs": 2, "network": [16, 16]}
CONTINUOUS = {"env_config": {"actions": "continuous"}}
KINDS = pytest.mark.parametrize("settings", [{}, CONTINUOUS | NORMALISED], ids=["discrete", "continuous-normalised"])


def stand_in(config: TrainConfig, episodes: Sequence[int]) -> Any:
    return StandInDeviceRows(make_training_rows(config, config.num_envs), episodes)


@pytest.fixture
def on_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings on `emulated` play the stand-in, for which any environment will do."""
    play_on_device(monkeypatch, stand_in)


def play_on_device(monkeypatch: pytest.MonkeyPatch, opened: Any) -> None:
    monkeypatch.setattr(device_rows, "open_device_rows", opened)
    monkeypatch.setattr(train_module, "check_runs_on_device", lambda config: None)


@KINDS
def test_rows_on_a_device_give_the_tensors_of_rows_on_the_processor(settings: dict[str, Any]) -> None:
    config = TrainConfig.of(CHASE, SMALL, settings, {"env_config": {"start": "fixed"}, "reward_scale": 3.0})
    here = TrainingRows(config, first_normaliser(config))  # all episodes start alike, so their numbers do not matter
    there = DeviceTrainingRows(config, first_normaliser(config), stand_in(config, range(5)))
    here.begin(1)
    there.begin(1)
    for rollout in range(3):
        for step in range(7):
            torch.testing.assert_close(there.observations, here.observations, rtol=1e-6, atol=1e-7)
            torch.manual_seed(100 * rollout + step)
            actions = torch.randint(3, (16,)) if not settings else torch.rand(16, 1) * 2 - 1
            ours, theirs = here.step(actions), there.step(actions)
            torch.testing.assert_close(theirs.rewards, ours.rewards, rtol=1e-6, atol=1e-7)
            assert theirs.done.equal(ours.done)
            assert theirs.last.equal(ours.last)
            if settings:
                assert ours.cut is not None
                assert theirs.cut is not None
                assert theirs.cut.equal(ours.cut)
        here.update_statistics()
        there.update_statistics()
    assert there.episodes == here.episodes > 16
    for ours_now, theirs_now in zip(*(str(each.normaliser()).split() for each in (here, there)), strict=True):
        if ours_now.strip("(),[]").replace(".", "").isdigit():
            assert float(theirs_now.strip("(),[]")) == pytest.approx(float(ours_now.strip("(),[]")), rel=1e-6)


def test_the_table_of_starts_follows_from_the_seed() -> None:
    config = TrainConfig.of(CHASE, SMALL)
    table = start_table(config)
    assert len(table) == 100
    assert all(0 <= each < EPISODES for each in table)
    assert table == start_table(config) != start_table(TrainConfig.of(CHASE, SMALL, {"seed": 4}))
    assert TrainConfig.of(CHASE, SMALL, {"start_table": None}).start_episodes == 65_536
    assert TrainConfig.of(CHASE, {"num_envs": 200_000, "start_table": None}).start_episodes == 200_000


@pytest.mark.slow
@pytest.mark.usefixtures("on_device")
def test_it_learns_and_its_checkpoint_is_evaluated_on_the_processor(tmp_path: Path) -> None:
    config = TrainConfig.of(
        CHASE,
        {"timesteps": 24_576, "gamma": 0.95, "learning_rate": 1e-3, "start_table": 4_096, "num_envs": 64},
        {"minibatch_size": 512, "epochs": 10},
    )
    trained = train(config, models=tmp_path)
    model = open_model(trained.run_id, tmp_path)
    idle = play(make_rows("chase", 256, split="test"), "noop", range(256)).rewards.mean()
    assert play(model.make_env(256, split="test"), model.policy(), range(256)).rewards.mean() > idle + 0.2
    assert model.record["start_table"]["episodes"] == 4_096
    assert trained.episodes > 2_000
    assert trained.mean_reward is not None


def interrupt_at_384(report: TrainProgress) -> None:
    if report.steps == 384:
        raise KeyboardInterrupt


@pytest.mark.slow(0.4)
@KINDS
@pytest.mark.usefixtures("on_device")
def test_an_interrupted_training_ends_with_the_weights_of_an_uninterrupted_one(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 960, "checkpoint_every_steps": 10_000}, settings)

    with pytest.raises(KeyboardInterrupt):
        train(config, models=tmp_path, run_id="one", progress=interrupt_at_384)
    resumed = train(config, models=tmp_path, resume="one")
    assert (resumed.steps, resumed.resumed_from, resumed.exact) == (960, 384, True)
    whole = train(config, models=tmp_path, run_id="at-once")
    assert weights_digest("one", tmp_path) == weights_digest("at-once", tmp_path)
    assert (resumed.episodes, resumed.mean_reward) == (whole.episodes, whole.mean_reward)
    for file in ("optimizer.pt", "rows.npz", "chance.json"):
        one, other = ((tmp_path / run / "final" / file).read_bytes() for run in ("one", "at-once"))
        assert one == other, file


@pytest.mark.slow(0.3)
@pytest.mark.usefixtures("on_device")
def test_a_training_continues_on_the_processor_with_new_episodes(tmp_path: Path) -> None:
    train(TrainConfig.of(CHASE, SMALL, {"timesteps": 384}), models=tmp_path, run_id="one")
    further = TrainConfig.of(CHASE, SMALL, {"timesteps": 768, "device": "cpu"})
    resumed = train(further, models=tmp_path, resume="one")
    assert (resumed.steps, resumed.exact) == (768, False)
    assert "all rows begin new episodes" in resumed.reason


@pytest.mark.slow(0.4)
@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("device", ["emulated", "cpu"])
def test_more_timesteps_are_another_schedule_of_the_learning_rate(tmp_path: Path, device: str) -> None:
    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 192, "learning_rate_end": 0.0}, {"device": device})
    train(config, models=tmp_path, run_id="one")
    longer = TrainConfig.of(config.to_json(), {"timesteps": 576, "checkpoint_every_steps": 192})

    with pytest.raises(KeyboardInterrupt):
        train(longer, models=tmp_path, resume="one", progress=interrupt_at_384)
    resumed = train(longer, models=tmp_path, resume="one")
    assert (resumed.resumed_from, resumed.exact) == (384, False), "its checkpoint is of a resumed training"
    assert resumed.reason == "learning_rate_end follows from timesteps, which were 192 and are 576"
    assert [each["exact"] for each in resumed.record["resumes"]] == [False, False]
    train(longer, models=tmp_path, run_id="at-once")
    assert weights_digest("one", tmp_path) != weights_digest("at-once", tmp_path)


@pytest.mark.slow(0.5)
def test_a_device_that_fails_is_named_and_the_last_checkpoint_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(StandInDeviceRows):
        left_steps = 40

        def step(self, actions: torch.Tensor) -> None:
            Failing.left_steps -= 1
            if not Failing.left_steps:
                raise _kernel.DeviceError("the driver says CUDA_ERROR_ECC_UNCORRECTABLE; look at the machine")
            super().step(actions)

    def failing(config: TrainConfig, episodes: Sequence[int]) -> Any:
        return Failing(make_training_rows(config, config.num_envs), episodes)

    config = TrainConfig.of(CHASE, SMALL, {"timesteps": 960, "checkpoint_every_steps": 192})
    play_on_device(monkeypatch, failing)
    with pytest.raises(DeviceLost, match="the device failed after 576 steps: the driver says CUDA_ERROR") as lost:
        train(config, models=tmp_path, run_id="one")
    assert lost.value.hint == "`mayavi train --resume one` continues from the checkpoint at 576 steps"
    assert open_model("one", tmp_path).record["status"] == "failed"
    resumed = train(config, models=tmp_path, resume="one")
    assert (resumed.resumed_from, resumed.exact) == (576, True)
    train(config, models=tmp_path, run_id="whole")
    assert weights_digest("one", tmp_path) == weights_digest("whole", tmp_path)


def scripted_ppo(**settings: Any) -> tuple[PPO, PPO]:
    """Two trainings with the same weights: one takes its gradient steps one by one, the other as a graph would."""
    config = TrainConfig.of(CHASE, SMALL, settings)
    found = []
    for generator in (None, torch.Generator()):
        rows = DeviceTrainingRows(config, None, stand_in(config, range(50)))
        rows.begin(0)
        torch.manual_seed(5)
        found.append(PPO(config, rows, "cpu", generator))
    return found[0], found[1]


@pytest.mark.parametrize("target_kl", [None, 0.002])
def test_a_captured_update_takes_the_steps_of_an_ordinary_one(target_kl: float | None) -> None:
    with torch.no_grad():
        plain, captured = scripted_ppo(target_kl=target_kl, epochs=6, learning_rate=0.002)
        torch.manual_seed(9)
        batch = plain.collect()
        orders = [torch.randperm(len(batch.returns)) for _ in range(6)]
        figures = []
        for ppo in (plain, captured):
            left = iter(orders)
            ppo._permutation = lambda _, left=left: next(left)  # type: ignore[method-assign,misc]
            figures.append(ppo.learn(batch, 0.002))
    assert figures[0]["train/n_updates"] == figures[1]["train/n_updates"]
    assert (figures[0]["train/n_updates"] == 24) == (target_kl is None)
    assert plain.optimizer.steps == captured.optimizer.steps
    torch.testing.assert_close(captured.network.flat, plain.network.flat, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(captured.optimizer.square, plain.optimizer.square, rtol=1e-4, atol=1e-9)


@pytest.mark.usefixtures("on_device")
def test_bf16_changes_the_weights_and_keeps_them_in_float32(tmp_path: Path) -> None:
    for precision in ("fp32", "bf16"):
        train(
            TrainConfig.of(CHASE, SMALL, {"timesteps": 384, "precision": precision}), models=tmp_path, run_id=precision
        )
    first, second = (open_model(run, tmp_path).policy().network.flat for run in ("fp32", "bf16"))  # type: ignore[attr-defined]
    assert first.dtype == second.dtype == torch.float32
    assert not first.equal(second)
    np.testing.assert_allclose(first.numpy(), second.numpy(), atol=0.05)


@pytest.mark.slow(10)
def test_the_real_contracts_on_the_emulator_train_and_resume_exactly(tmp_path: Path) -> None:
    config = TrainConfig.of(
        {"env": "aave", "framework": "fast", "device": "emulated", "num_envs": 8, "start_table": 12, "timesteps": 96},
        {"rollout_steps": 4, "minibatch_size": 16, "epochs": 1, "env_config": {"horizon": 3}, "network": [8]},
    )

    def stop(report: TrainProgress) -> None:
        if report.steps == 32:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, models=tmp_path, run_id="one", progress=stop)
    assert train(config, models=tmp_path, resume="one").exact
    whole = train(config, models=tmp_path, run_id="whole")
    assert weights_digest("one", tmp_path) == weights_digest("whole", tmp_path)
    assert whole.episodes == 32
    model = open_model("whole", tmp_path)
    assert len(play(model.make_env(4, split="test"), model.policy(), range(4)).rewards) == 4


def test_a_training_on_a_device_without_specialised_execution_is_refused(tmp_path: Path) -> None:
    config = TrainConfig.of({"env": "aave", "framework": "fast", "device": "emulated"})
    with pytest.raises(UsageError, match="a device runs recorded paths, and specialise is off") as refused:
        train(config, models=tmp_path, specialise="off")
    assert "--specialise off" in (refused.value.hint or "")
    assert list(tmp_path.iterdir()) == []


def test_an_environment_that_does_not_run_on_a_device_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    config = TrainConfig.of({"env": "rwa", "framework": "fast", "device": "emulated"})
    with pytest.raises(UsageError, match="'rwa' does not run on a device: it stands on no chain") as refused:
        train(config, models=tmp_path)
    assert "--device auto" in (refused.value.hint or "")
    assert list(tmp_path.iterdir()) == []
