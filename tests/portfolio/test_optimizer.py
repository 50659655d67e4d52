"""The optimiser of the portfolio: the seed's names and figures, weights that are what the environment holds."""

from __future__ import annotations

import inspect
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3", reason="`pip install 'mayavi-sim[rl]'` installs stable-baselines3")

import gymnasium

import mayavi.gym_env
from mayavi.errors import BadArgument, CheckpointError, ModelMismatch, UnknownRun, UsageError
from mayavi.gym_env import make_rows
from mayavi.portfolio import PPOYieldOptimizer
from mayavi.rl.config import TrainConfig
from mayavi.rl.models import open_model
from mayavi.rl.training.train import train
from tests.rl import chase_env

assert chase_env.ChaseEnv
assert mayavi.gym_env.ENVS["rwa"]
HOURS = {"horizon": 30}


def small(models: Path, **more: Any) -> PPOYieldOptimizer:
    settings = {"evaluate_every": 128, "evaluate_episodes": 8, "lstm_size": 16, **more.pop("settings", {})}
    asked = {"n_steps": 128, "num_envs": 8, "total_timesteps": 384, "network": (16, 8), "n_epochs": 2, "seed": 2}
    return PPOYieldOptimizer(models=models, env_config=HOURS, settings=settings, **(asked | more))


@pytest.fixture(scope="module", params=[False, True], ids=["mlp", "lstm"])
def optimizer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> PPOYieldOptimizer:
    made = small(tmp_path_factory.mktemp("models"), recurrent=request.param)
    made.train()
    return made


def test_its_figures_are_those_it_was_described_with() -> None:
    defaults = {
        name: each.default for name, each in inspect.signature(PPOYieldOptimizer).parameters.items() if name != "self"
    }
    assert defaults["learning_rate"] == 3e-4
    assert [defaults[name] for name in ("gamma", "gae_lambda", "clip_range", "entropy_coef")] == [0.99, 0.95, 0.2, 0.01]
    assert [defaults[name] for name in ("n_steps", "batch_size", "n_epochs")] == [2048, 64, 10]
    assert (defaults["total_timesteps"], defaults["model_path"]) == (500_000, None)
    config = PPOYieldOptimizer().config
    assert (config.network, config.timesteps, config.entropy_coefficient) == ((256, 128, 64), 500_000, 0.01)
    assert (config.num_envs * config.rollout_steps, config.minibatch_size) == (2048, 64)


@pytest.mark.parametrize("env", ["rwa", "mayavi/RWAYield-v0"])
def test_the_command_line_begins_with_the_same_settings(env: str) -> None:
    told = TrainConfig.of({"env": env, "framework": "sb3"})
    assert TrainConfig.of(told.to_json(), {"env": "rwa"}) == PPOYieldOptimizer().config
    assert TrainConfig.of({"env": env, "framework": "sb3"}, {"gamma": 0.5, "num_envs": 8}).gamma == 0.5
    sac = TrainConfig.of({"env": env, "algorithm": "sac"})
    assert not sac.normalises


@pytest.mark.slow(0.5)
def test_its_weights_are_those_that_the_environment_holds(optimizer: PPOYieldOptimizer) -> None:
    env = gymnasium.make("mayavi/RWAYield-v0", config={**HOURS, "split": "test"})
    traded = 0
    for episode in range(3):
        observation, _ = env.reset(seed=episode)
        told, acting = optimizer.memory(), optimizer.memory()
        over = False
        while not over:
            weights = optimizer.predict(observation, told)
            assert weights.shape == (3,)
            assert weights.sum() == pytest.approx(1, abs=1e-12)
            assert weights.min() >= 0.05
            assert weights.max() <= 0.60
            observation, _, terminated, truncated, info = env.step(optimizer.action(observation, acting))
            held = np.array(list(info["target_weights"].values()))
            if info["turnover"] > 0:
                traded += 1
                assert held.tolist() == weights.tolist()
            else:
                assert np.abs(held - weights).sum() < 1e-4
            over = terminated or truncated
    assert traded > 10


def test_rows_are_decided_together_as_each_alone_and_a_memory_goes_on(optimizer: PPOYieldOptimizer) -> None:
    seen = optimizer.model.make_env(1).observation_space.sample()
    rng = np.random.default_rng(1)
    hours = np.clip(seen + rng.normal(0, 1, (4, 5, len(seen))), -10, 10).astype(np.float32)
    together = optimizer.memory()
    alone = [optimizer.memory() for _ in range(5)]
    for hour in hours:
        weights = optimizer.predict(hour, together)
        assert weights.shape == (5, 3)
        for row, memory in enumerate(alone):
            assert optimizer.predict(hour[row], memory) == pytest.approx(weights[row], abs=1e-5)
    if optimizer.config.recurrent:
        again = optimizer.predict(hours[0], together)
        together.forget()
        assert not np.allclose(again, optimizer.predict(hours[0], together), atol=1e-7)
        with pytest.raises(UsageError, match="the policy has a memory, and none is given") as refused:
            optimizer.predict(hours[0])
        assert "optimizer.memory()" in (refused.value.hint or "")
        with pytest.raises(BadArgument, match="the memory is of 5 episodes, and 1 are observed"):
            optimizer.predict(hours[0][0], together)
    else:
        assert (optimizer.predict(hours[0]) == optimizer.predict(hours[0], together)).all()


def test_what_is_saved_is_loaded_and_decides_the_same(
    optimizer: PPOYieldOptimizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = optimizer.save(tmp_path / "router")
    again = PPOYieldOptimizer().load(place)
    assert again.config == optimizer.config
    assert again.model.checkpoint().name == "best"
    seen = np.zeros((3, optimizer.policy.observation_space.shape[0]), dtype=np.float32)
    assert (again.predict(seen, again.memory()) == optimizer.predict(seen, optimizer.memory())).all()
    assert open_model(place).checkpoint().name == "final"  # a run like any other
    by_path = PPOYieldOptimizer(model_path=place)
    assert by_path.load() is by_path
    assert by_path.save() == place  # its own folder: nothing to do
    assert optimizer.save(place) == place  # a run is replaced by a run
    monkeypatch.chdir(tmp_path)
    assert optimizer.save() == Path("models/ppo_yield_router")
    assert PPOYieldOptimizer().load().model.run_id == "ppo_yield_router"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="is there, and is not a training run"):
        optimizer.save(tmp_path / "mine")
    with pytest.raises(UsageError, match="is there, and is not a training run"):
        PPOYieldOptimizer(model_path=tmp_path / "mine").train()  # before it trains


@pytest.mark.slow(1)
def test_a_training_is_saved_where_its_optimiser_says_and_is_the_same_again(tmp_path: Path) -> None:
    made = small(tmp_path, model_path=tmp_path / "kept" / "router", settings={"evaluate_every": None})
    done = made.train(total_timesteps=128)
    assert done.steps == 128
    assert made.model.checkpoint().name == "final"
    other = small(tmp_path, settings={"evaluate_every": None})
    other.train(128)
    seen = np.zeros(made.policy.observation_space.shape, dtype=np.float32)
    loaded = PPOYieldOptimizer().load(tmp_path / "kept" / "router")
    assert (loaded.predict(seen) == made.predict(seen)).all()
    assert (other.predict(seen) == made.predict(seen)).all()
    another = small(tmp_path, seed=3, settings={"evaluate_every": None})
    another.train(128)
    assert (another.config.seed, made.config.seed) == (3, 2)
    assert (another.predict(seen) != made.predict(seen)).any()


def test_what_cannot_be_loaded_is_an_error_and_the_policy_in_use_stays(
    optimizer: PPOYieldOptimizer, tmp_path: Path
) -> None:
    place = optimizer.save(tmp_path / "router")
    made = PPOYieldOptimizer(models=tmp_path).load(place)
    with pytest.raises(UnknownRun, match="unknown training run 'nowhere'"):
        made.load("nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnknownRun, match="there is no training run at"):
        made.load(tmp_path / "empty")
    chase = {"env": "chase", "framework": "sb3", "timesteps": 64, "num_envs": 4, "rollout_steps": 16}
    train(TrainConfig.of(chase, {"minibatch_size": 32}), models=tmp_path, run_id="chase")
    with pytest.raises(ModelMismatch, match="was trained on 'chase', not on 'rwa'") as refused:
        made.load("chase")
    assert "mayavi train --env rwa" in (refused.value.hint or "")
    shutil.copytree(place, tmp_path / "damaged")
    (tmp_path / "damaged" / "best" / "model.zip").write_bytes(b"no model")
    with pytest.raises(CheckpointError, match=r"model.zip of '.*' is not what was written"):
        made.load(tmp_path / "damaged")
    assert made.model.path == place
    assert made.predict(np.zeros(made.policy.observation_space.shape), made.memory()).shape == (3,)


def test_a_policy_that_chooses_from_a_menu_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelMismatch, match="chooses from a menu"):
        PPOYieldOptimizer(
            n_steps=64,
            num_envs=4,
            total_timesteps=64,
            network=(8,),
            models=tmp_path,
            env_config={"actions": "discrete", **HOURS},
            settings={"evaluate_every": None},
        ).train()


def test_misuse_is_told_with_the_way_out() -> None:
    with pytest.raises(UsageError, match="2,048 steps between two updates are not the same number for each of 3") as no:
        PPOYieldOptimizer(num_envs=3)
    assert "n_steps=2046" in (no.value.hint or "")
    with pytest.raises(UsageError, match="state_dim is 18, and the environment 'rwa' has 37"):
        PPOYieldOptimizer(state_dim=18)
    with pytest.raises(UsageError, match="action_dim is 4, and the environment 'rwa' has 3"):
        PPOYieldOptimizer(state_dim=37, action_dim=4)
    made = PPOYieldOptimizer(action_dim=3)
    assert (make_rows("rwa", 1).observation_space.shape, make_rows("rwa", 1).action_space.shape) == ((37,), (3,))
    with pytest.raises(UsageError, match="setting 'num_envs' is 0"):
        PPOYieldOptimizer(num_envs=0)
    assert repr(made) == "<PPOYieldOptimizer sb3 ppo, seed 0: no policy yet>"
    for what in (lambda: made.predict(np.zeros(37)), made.save, made.load):
        with pytest.raises(UsageError):
            what()
    with pytest.raises(UsageError, match="a training has no setting 'gama'"):
        PPOYieldOptimizer(settings={"gama": 1})


def test_what_is_shown_must_be_an_observation(optimizer: PPOYieldOptimizer) -> None:
    size = optimizer.policy.observation_space.shape[0]
    with pytest.raises(ModelMismatch, match=r"not \(3,\)"):
        optimizer.predict(np.zeros(3), optimizer.memory())
    with pytest.raises(BadArgument, match="is not a number"):
        optimizer.predict(np.full(size, np.nan), optimizer.memory())
    with pytest.raises(BadArgument, match="has the shape"):
        optimizer.predict(np.zeros((1, 1, size)), optimizer.memory())
