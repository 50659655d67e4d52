"""Trainings in the portfolio of tokenised assets: both frameworks, with memory and without."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3", reason="`pip install 'mayavi-sim[rl]'` installs stable-baselines3")

from mayavi.portfolio.optimizer import PPOYieldOptimizer
from mayavi.rl.config import TrainConfig
from mayavi.rl.evaluation.play import play
from mayavi.rl.models import open_model
from mayavi.rl.training.train import train
from tests.parallel.ray_cluster import only_ray

SMALL: dict[str, Any] = {
    "env": "rwa",
    "seed": 5,
    "timesteps": 512,
    "num_envs": 8,
    "rollout_steps": 16,
    "minibatch_size": 64,
    "epochs": 2,
    "network": [16, 8],
    "lstm_size": 8,
    "evaluate_every": 256,
    "evaluate_episodes": 8,
    "runners": 0,
    "env_config": {"horizon": 40},
}


@pytest.mark.slow
def test_a_killed_training_of_the_portfolio_ends_with_the_weights_of_one_that_was_not(
    tmp_path: Path, train_process: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    config = SMALL | {"framework": "sb3", "checkpoint_every_steps": 128}
    process = partial(train_process, config=config, models=str(tmp_path))

    whole = json.loads(process(run_id="whole").stdout.splitlines()[-1])
    assert process(run_id="killed", die_at=384).returncode == -9
    resumed = json.loads(process(resume="killed").stdout.splitlines()[-1])
    assert resumed["exact"]
    assert resumed["resumed_from"] == 256
    assert (resumed["digest"], resumed["episodes"]) == (whole["digest"], whole["episodes"])
    assert open_model("killed", tmp_path).record["best"] == open_model("whole", tmp_path).record["best"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("shared_ray")
def test_rllib_trains_it_with_an_lstm_and_the_optimiser_takes_its_policy(tmp_path: Path) -> None:
    pytest.importorskip("ray.rllib", reason="`pip install 'mayavi-sim[rl]'` installs RLlib")
    config = TrainConfig.of(SMALL, {"framework": "rllib", "recurrent": True, "initial_deviation": 0.05})
    with only_ray():
        first = train(config, models=tmp_path, run_id="first")
        again = train(config, models=tmp_path, run_id="again")
    assert first.best is not None
    assert first.best == again.best
    model = open_model("first:best", tmp_path)
    env = model.make_env(8, split="validation")
    assert play(env, model.policy(), range(8)).rewards.mean() == first.best["mean_reward"]
    found, _ = model.policy().distribution(env.observe(), None)
    assert 0.02 < float(np.median(found.deviation)) < 0.12  # type: ignore[union-attr]
    optimizer = PPOYieldOptimizer(models=tmp_path).load("first")
    env.begin(range(8), range(8))
    weights = optimizer.predict(env.observe(), optimizer.memory())
    env.step(optimizer.action(env.observe(), optimizer.memory()))
    assert (env.columns["target"] == weights).all()


@pytest.mark.slow(2)
def test_a_fresh_policy_draws_its_actions_with_the_deviation_that_is_asked_for(tmp_path: Path) -> None:
    config = TrainConfig.of(SMALL, {"framework": "sb3", "initial_deviation": 0.05, "timesteps": 128})
    policy = open_model(train(config, models=tmp_path).run_id, tmp_path).policy()
    found, _ = policy.distribution(np.zeros((1, *policy.observation_space.shape), dtype=np.float32), None)
    assert found.deviation == pytest.approx(0.05, rel=0.05)  # type: ignore[union-attr]
