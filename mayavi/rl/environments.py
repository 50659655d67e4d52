"""The environment of a training: its world, its rows, and what is known of it before anything is trained."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mayavi.errors import UsageError
from mayavi.rl.config import TrainConfig
from mayavi.rl.training.checkpoints import described
from mayavi.worlds.source import WorldSource

if TYPE_CHECKING:
    from gymnasium import spaces

    from mayavi.gym_env.configuration import EnvConfig
    from mayavi.gym_env.rows import RowsEnv


@dataclass(frozen=True, slots=True)
class EnvFacts:
    """What a trainer must know of an environment: for each role, that is each policy, what it sees and does."""

    name: str
    roles: Mapping[str, tuple[spaces.Box, spaces.Space[Any]]]
    horizon: int
    world_digest: str

    @property
    def discrete(self) -> bool:
        """Whether an action is one of a few."""
        return all(hasattr(actions, "n") for _, actions in self.roles.values())

    def sizes(self) -> list[tuple[int, int]]:
        """For each role how many numbers it observes, and how many choices or numbers an action has."""
        return [
            (math.prod(seen.shape), int(getattr(done, "n", 0)) or math.prod(done.shape or ()))
            for seen, done in self.roles.values()
        ]

    def to_json(self) -> dict[str, Any]:
        """For `run.json` and each checkpoint."""
        if len(self.roles) == 1:
            (both,) = self.roles.values()
            seen, done = (described(each) for each in both)
        else:
            seen, done = (
                {"kind": "Dict", "spaces": {role: described(both[at]) for role, both in self.roles.items()}}
                for at in (0, 1)
            )
        return {"env": self.name, "observation_space": seen, "action_space": done}


def env_settings(name: str) -> list[str]:
    """The names of what an environment can be told; `UnknownName` where there is no such environment."""
    from mayavi.gym_env import entry

    return list(entry(name).load().config_type.model_fields)


def env_config(config: TrainConfig) -> EnvConfig:
    """The settings of the environment of a training."""
    from mayavi.gym_env import entry
    from mayavi.gym_env.configuration import configured

    settings: EnvConfig = configured(entry(config.env).load().config_type, config.env_config)
    return settings


def stands_on_a_chain(config: TrainConfig) -> bool:
    """Whether the environment needs a world; a portfolio does not."""
    return "chain" in env_settings(config.env)


def world_of(config: TrainConfig) -> WorldSource:
    """The world that `source` names: `replica`, `snapshot:PATH` or `rpc` (MAYAVI_RPC_URL, which is never kept)."""
    return WorldSource.named(config.source, block=config.block)


def pinned(config: TrainConfig) -> TrainConfig:
    """`config` with the number of the block that a node calls the latest now, so that everybody opens the same."""
    if config.source != "rpc" or config.block is not None or not stands_on_a_chain(config):
        return config
    fork = world_of(config).on(str(config.env_config.get("chain", "ethereum"))).open()
    fork.close()
    return config.model_copy(update={"block": int(fork.source["block"])})


def make_training_rows(config: TrainConfig, rows: int, *, threads: int | None = None) -> RowsEnv[Any]:
    """Make the environment that is trained on."""
    from mayavi.gym_env import make_rows

    return make_rows(config.env, rows, config=config.env_config, world=world_of(config), threads=threads)


def env_facts(config: TrainConfig) -> EnvFacts:
    """What is known of the environment; `UsageError` where the framework or the algorithm cannot train in it."""
    facts = facts_of(make_training_rows(config, 1))
    if len(facts.roles) > 1 and config.algorithm != "ppo":
        raise UsageError(f"the {facts.name} is trained with PPO alone", "leave --algorithm out")
    if config.algorithm == "sac" and facts.discrete:
        raise UsageError(
            f"SAC needs continuous actions, and those of '{facts.name}' are discrete",
            "`--set actions=continuous`, or --algorithm ppo or dqn",
        )
    if config.algorithm == "dqn" and not facts.discrete:
        raise UsageError(
            f"DQN needs discrete actions, and those of '{facts.name}' are continuous",
            "`--set actions=discrete`, or --algorithm ppo or sac",
        )
    return facts


def facts_of(env: RowsEnv[Any]) -> EnvFacts:
    """What a trainer must know of `env`."""
    roles = {role.name: (role.observation_space, role.action_space) for role in env.roles}
    return EnvFacts(env.name, roles, env.config.horizon, env.world_digest)
