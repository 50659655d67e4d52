"""The rows of a training as RLlib's runners make them, on whatever node they are."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from gymnasium.vector import VectorWrapper
from gymnasium.vector.utils import batch_space

import mayavi
from mayavi.errors import WorkerError
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import is_market, world_of
from mayavi.rl.training.global_rng import spread_seed
from mayavi.rl.training.normaliser import Lens, Normaliser, seen_space

NAME = "mayavi-training"
RECENT = 100


class TrainingVector(VectorWrapper):
    """Rows as the trainer sees them: normalised, rewards scaled, the horizon an end unless it is to be a cut.

    RLlib seeds its runners in sequence, and rows are too: those of one runner would play what another's do. So rows are
    seeded from the training's seed and the number of their runner.
    """

    def __init__(self, env: Any, *, seed: int, config: TrainConfig) -> None:
        super().__init__(env)
        self.first_seed: int | None = seed
        self.scale, self.bootstrap = config.reward_scale, config.bootstrap_at_horizon
        self.lens: Lens | None = None
        self.recent: deque[float] = deque(maxlen=RECENT)
        """What the last episodes earned, as the environment has it: normalised rewards do not tell."""
        if config.normalises:
            raw = env.single_observation_space
            self.single_observation_space = seen_space(config, raw)
            self.observation_space = batch_space(self.single_observation_space, env.num_envs)
            self.lens = Lens(config.gamma, env.num_envs, raw.shape, Normaliser())

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Start episodes; the first time with the runner's own seed."""
        own, self.first_seed = self.first_seed, None
        observations, infos = self.env.reset(seed=own, options=options)
        return (observations if self.lens is None else self.lens.observe(observations)), infos

    def step(self, actions: Any) -> Any:
        """Step all rows."""
        play = self.unwrapped.play
        over = play.over.copy()  # these begin anew: they earn nothing
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        if self.lens is not None:
            done = terminated | truncated
            observations, rewards = self.lens.observe(observations), self.lens.reward(rewards, done, over)
            self.recent.extend(play.returns[done].tolist())
        if not self.bootstrap:
            terminated, truncated = terminated | truncated, np.zeros_like(truncated)
        return observations, rewards * self.scale, terminated, truncated, infos


def register_training(config: TrainConfig) -> dict[str, Any]:
    """What `AlgorithmConfig.environment` takes for the environment of `config`."""
    from ray.tune.registry import register_env

    register_env(NAME, partial(create, mayavi.__version__, config.to_json()))
    return {"env": NAME, "env_config": {}}


def create(version: str, config: dict[str, Any], context: Mapping[str, Any], **_: Any) -> Any:
    """What RLlib calls in each runner."""
    if mayavi.__version__ != version:
        raise WorkerError(
            f"a node of the Ray cluster has mayavi {mayavi.__version__}, and the training runs on {version}",
            "install the same version on all of them",
        )
    from mayavi.gym_env.adapters.rllib import create as create_rows

    asked = TrainConfig.of(config)
    index = getattr(context, "worker_index", 0) or 0
    if is_market(asked):
        from mayavi.rl.rllib.market import TrainingMarket

        return TrainingMarket(
            runner=index,
            scale=asked.reward_scale,
            bootstrap=asked.bootstrap_at_horizon,
            config=asked.env_config,
            world=world_of(asked),
        )
    settings = {"config": asked.env_config, "world": world_of(asked), "num_envs": context["num_envs"]}
    rows = create_rows(asked.env, settings)
    seed = spread_seed(asked.seed, f"rows of runner {index}")
    return TrainingVector(rows, seed=seed, config=asked)


def training_vector(runner: Any) -> TrainingVector:
    """The rows of a runner, inside whatever RLlib has put around them."""
    env = runner.env
    while not isinstance(env, TrainingVector):
        env = env.env
    return env
