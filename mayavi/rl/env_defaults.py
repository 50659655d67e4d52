"""Default training settings of individual environments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MARKET, RWA, SCENARIO = "market", "rwa", "scenario"
"""The multi-agent market, which only RLlib trains, the portfolio of tokenised assets, and the agent of a scenario."""
SCENARIO_ID = "mayavi/Scenario-v0"
_IDS = {"mayavi/RWAYield-v0": RWA}

_RWA: dict[str, Any] = {
    "timesteps": 500_000,
    "network": [256, 128, 64],
    "entropy_coefficient": 0.01,
    "num_envs": 64,
    "rollout_steps": 32,
    "minibatch_size": 64,
    "normalize_observations": True,
    "normalize_rewards": True,
    "bootstrap_at_horizon": True,
    "evaluate_every": 50_000,
    "evaluate_episodes": 128,
}
_RWA_RECURRENT: dict[str, Any] = {"minibatch_size": 256}


def env_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults for the training described by `values`, which take precedence."""
    named = str(values.get("env"))
    env = _IDS.get(named, named)
    if env in (MARKET, SCENARIO):  # each row is a market or simulation of its own: many rows are slow
        return {"num_envs": 8, "minibatch_size": min(256, 8 * values.get("rollout_steps", 32))}
    if env == RWA:
        found = _RWA | (_RWA_RECURRENT if values.get("recurrent") else {})
        if values.get("algorithm", "ppo") != "ppo":  # a replay buffer would mix observations of different statistics
            found |= {"normalize_observations": False, "normalize_rewards": False}
        return found
    return {}
