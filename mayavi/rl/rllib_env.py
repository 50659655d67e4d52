"""The rows of a training as RLlib's runners make them, on whatever node they are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from gymnasium.vector import VectorWrapper

import mayavi
from mayavi.errors import WorkerError
from mayavi.rl.chance import spread_seed
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import is_market, world_of

NAME = "mayavi-training"


class TrainingVector(VectorWrapper):
    """Rows as the trainer sees them: rewards scaled, the horizon an end unless it is to be a cut.

    RLlib seeds its runners in sequence, and rows are too: those of one runner would play what another's do. So rows are
    seeded from the training's seed and the number of their runner.
    """

    def __init__(self, env: Any, *, seed: int, scale: float, bootstrap: bool) -> None:
        super().__init__(env)
        self.first_seed: int | None = seed
        self.scale, self.bootstrap = scale, bootstrap

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Start episodes; the first time with the runner's own seed."""
        own, self.first_seed = self.first_seed, None
        return self.env.reset(seed=own, options=options)

    def step(self, actions: Any) -> Any:
        """Step all rows."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
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
    from mayavi.gym_env.rllib import create as create_rows

    asked = TrainConfig.of(config)
    index = getattr(context, "worker_index", 0) or 0
    if is_market(asked):
        from mayavi.rl.rllib_market import TrainingMarket

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
    return TrainingVector(rows, seed=seed, scale=asked.reward_scale, bootstrap=asked.bootstrap_at_horizon)
