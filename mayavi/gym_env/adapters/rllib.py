"""Environments for RLlib: native vector environments and multi-agent environments.

```python
from mayavi.gym_env.adapters.rllib import environment, multi_agent, vectorize_mode

config = (
    PPOConfig()
    .environment(**environment("aave", split="train"))
    .env_runners(gym_env_vectorize_mode=vectorize_mode("aave"), num_envs_per_env_runner=64)
    .multi_agent(**multi_agent("aave"))
)
```
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from mayavi.errors import SetupError
from mayavi.gym_env.registry import entry, make_rows, make_single, make_vector
from mayavi.setup_errors import RL_HINT

try:
    from ray.tune.registry import register_env
except ModuleNotFoundError as error:
    raise SetupError(f"this needs {error.name}, which is not installed", RL_HINT) from error


def environment(name: str, **settings: Any) -> dict[str, Any]:
    """Arguments of `AlgorithmConfig.environment`; `settings` are those of `make_rows`."""
    return {"env": register(name), "env_config": settings}


def vectorize_mode(name: str) -> str:
    """The `gym_env_vectorize_mode` of `AlgorithmConfig.env_runners`.

    RLlib makes one batch of rows for a single-agent environment, and N environments for a multi-agent one.
    """
    return "sync" if has_several_agents(name) else "vector_entry_point"


def has_several_agents(name: str) -> bool:
    """Whether an environment has several roles."""
    return len(entry(name).load().role_names) > 1


def multi_agent(name: str) -> dict[str, Any]:
    """Arguments of `AlgorithmConfig.multi_agent`: a policy for each role; none for a single agent."""
    if not has_several_agents(name):
        return {}
    from mayavi.gym_env.adapters.multi_agent import policy_of

    # In order, not as a set: networks are initialised and trained one after the other from one random generator.
    return {"policies": list(entry(name).load().role_names), "policy_mapping_fn": policy_of}


def register(name: str) -> str:
    """Register an environment with Ray; returns the name by which RLlib finds it on every node of the cluster."""
    known = f"mayavi-{entry(name).name}"
    register_env(known, partial(create, entry(name).name))
    return known


def create(name: str, env_config: Mapping[str, Any]) -> Any:
    """Make an environment for RLlib: a batch of rows where the settings hold `num_envs`, else a single episode.

    Rows whose episode is over start the next one in the following step, as RLlib expects; infos are empty unless
    `exact_info` is set.
    """
    settings = dict(env_config)
    exact_info = bool(settings.pop("exact_info", False))
    if has_several_agents(name):
        from mayavi.gym_env.adapters.multi_agent import MayaviMultiAgentEnv

        return MayaviMultiAgentEnv(make_rows(name, 1, **{"threads": 1, **settings}), exact_info=exact_info)
    if "num_envs" in settings:
        return make_vector(name, autoreset_mode="next_step", exact_info=exact_info, **settings)
    return make_single(name, **settings)
