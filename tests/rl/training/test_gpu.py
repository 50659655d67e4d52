"""Trainings use a GPU if there is one."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed; `pip install 'mayavi-sim[rl]'` installs it")

import torch

from mayavi.rl.config import TrainConfig
from mayavi.rl.models import open_model
from mayavi.rl.training.train import train
from tests.rl import chase_env

assert chase_env.ChaseEnv


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU here")
@pytest.mark.parametrize("framework", ["sb3", "fast"])
def test_a_training_learns_on_the_gpu_and_its_policy_plays_on_the_cpu(tmp_path: Path, framework: str) -> None:
    config = TrainConfig.of({"env": "chase", "framework": framework, "timesteps": 2_048})
    trained = train(config, models=tmp_path)
    assert trained.device.startswith("cuda")
    model = open_model(trained.run_id, tmp_path)
    assert model.policy().actions(model.make_env(4).observation_space.sample()[None])[0].shape == (1,)


@pytest.mark.parametrize("framework", ["sb3", "fast"])
def test_the_cpu_is_used_where_it_is_asked_for(tmp_path: Path, framework: str) -> None:
    settings = {"num_envs": 8, "rollout_steps": 8, "minibatch_size": 64, "timesteps": 64, "device": "cpu"}
    assert train(TrainConfig.of({"env": "chase", "framework": framework}, settings), models=tmp_path).device == "cpu"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU here")
@pytest.mark.parametrize("env_config", [{}, {"actions": "continuous"}], ids=["discrete", "continuous"])
def test_environment_and_learning_on_the_gpu_give_the_same_weights_again(
    tmp_path: Path, env_config: dict[str, str]
) -> None:
    config = TrainConfig.of(
        {"env": "aave", "framework": "fast", "device": "cuda", "num_envs": 4_096, "start_table": 256},
        {"rollout_steps": 12, "minibatch_size": 12_288, "epochs": 2, "timesteps": 98_304, "env_config": env_config},
    )
    for run in ("one", "two"):
        assert train(config, models=tmp_path, run_id=run).device == "cuda"
    model, again = open_model("one", tmp_path), open_model("two", tmp_path)
    assert model.policy().network.flat.equal(again.policy().network.flat)  # type: ignore[attr-defined]
    assert model.policy().actions(model.make_env(4).observation_space.sample()[None])[0].shape[0] == 1
