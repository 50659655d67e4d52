"""The environments for RLlib: native vector environments, and the market of several agents.

from mayavi.gym_env.adapters.rllib import environment, multi_agent, vectorize_mode

config = (
    PPOConfig()
    .environment(**environment("aave", split="train"))
    .env_runners(gym_env_vectorize_mode=vectorize_mode("aave"), num_envs_per_env_runner=64)
    .multi_agent(**multi_agent("aave"))
)
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from mayavi.errors import SetupError
from mayavi.gym_env.registry import MULTI_AGENT, entry, make_single, make_vector

try:
    from ray.tune.registry import register_env
except ModuleNotFoundError as error:
    raise SetupError(
        f"this needs {error.name}, which is not installed", "`pip install 'mayavi-sim[rl]'` installs it"
    ) from error


def environment(name: str, **settings: Any) -> dict[str, Any]:
    """What `AlgorithmConfig.environment` takes for an environment; `settings` as `make_rows` takes them."""
    return {"env": register(name), "env_config": settings}


def vectorize_mode(name: str) -> str:
    """The `gym_env_vectorize_mode` of `AlgorithmConfig.env_runners`.

    RLlib then asks for one batch of rows instead of N environments. Of environments of several agents it makes N.
    """
    return "sync" if entry(name).name in MULTI_AGENT else "vector_entry_point"


def multi_agent(name: str) -> dict[str, Any]:
    """What `AlgorithmConfig.multi_agent` takes: a policy for each kind of agents; nothing for a single agent."""
    if entry(name).name not in MULTI_AGENT:
        return {}
    from mayavi.gym_env.market.config import ROLES
    from mayavi.gym_env.market.env import policy_of

    return {"policies": set(ROLES), "policy_mapping_fn": policy_of}


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
    if name in MULTI_AGENT:
        from mayavi.gym_env.market.env import AaveMarketEnv

        return AaveMarketEnv(exact_info=exact_info, **settings)
    if "num_envs" in settings:
        return make_vector(name, autoreset_mode="next_step", exact_info=exact_info, **settings)
    return make_single(name, **settings)
