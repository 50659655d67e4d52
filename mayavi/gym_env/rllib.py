"""The environments for RLlib: native vector environments, and the market of several agents.

from mayavi.gym_env.rllib import environment

config = (
    PPOConfig()
    .environment(**environment("aave", split="train"))
    .env_runners(gym_env_vectorize_mode="vector_entry_point", num_envs_per_env_runner=64)
)
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ray.tune.registry import register_env

from mayavi.gym_env.registry import entry, make_single, make_vector

VECTORIZE_MODE = "vector_entry_point"
"""The `gym_env_vectorize_mode` with which RLlib asks for a batch of rows instead of N environments."""


def environment(name: str, **settings: Any) -> dict[str, Any]:
    """What `AlgorithmConfig.environment` takes for an environment; `settings` as `make_rows` takes them."""
    return {"env": register(name), "env_config": settings}


def register(name: str) -> str:
    """Tell Ray of an environment. Gives the name that RLlib knows it by from now on, on every node of its cluster."""
    known = f"mayavi-{entry(name).name}"
    register_env(known, partial(create, entry(name).name))
    return known


def create(name: str, env_config: Mapping[str, Any]) -> Any:
    """What RLlib calls: a batch of rows where the settings hold `num_envs`, one episode at a time where they do not.

    Rows whose episode is over start the next one in the following step, as RLlib expects; infos are empty unless
    `exact_info` is set.
    """
    settings = dict(env_config)
    exact_info = bool(settings.pop("exact_info", False))
    if "num_envs" in settings:
        return make_vector(name, autoreset_mode="next_step", exact_info=exact_info, **settings)
    return make_single(name, **settings)
