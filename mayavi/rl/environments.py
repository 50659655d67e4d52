"""Environment of a training: its world, its rows, and the facts that a trainer needs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mayavi.errors import UsageError
from mayavi.rl.config import TITLES, TrainConfig
from mayavi.rl.spaces import space_to_json
from mayavi.worlds.source import WorldSource

if TYPE_CHECKING:
    from gymnasium import spaces

    from mayavi.gym_env.configuration import EnvConfig
    from mayavi.gym_env.rows import RowsEnv


@dataclass(frozen=True, slots=True)
class EnvFacts:
    """Facts that a trainer needs about an environment."""

    name: str
    roles: Mapping[str, tuple[spaces.Box, spaces.Space[Any]]]
    """Observation and action space of each role; every role has its own policy."""
    horizon: int
    world_digest: str
    world_name: str | None = None

    @property
    def discrete(self) -> bool:
        """Whether all action spaces are discrete."""
        return all(hasattr(actions, "n") for _, actions in self.roles.values())

    def sizes(self) -> list[tuple[int, int]]:
        """Observation size, and number of actions or action size, of each role."""
        return [
            (math.prod(seen.shape), int(getattr(done, "n", 0)) or math.prod(done.shape or ()))
            for seen, done in self.roles.values()
        ]

    def to_json(self) -> dict[str, Any]:
        """JSON data for `run.json` and `checkpoint.json`."""
        if len(self.roles) == 1:
            (both,) = self.roles.values()
            seen, done = (space_to_json(each) for each in both)
        else:
            seen, done = (
                {"kind": "Dict", "spaces": {role: space_to_json(both[at]) for role, both in self.roles.items()}}
                for at in (0, 1)
            )
        return {"env": self.name, "observation_space": seen, "action_space": done}


def env_settings(name: str) -> list[str]:
    """Names of the settings of an environment; `UnknownName` if there is no such environment."""
    from mayavi.gym_env import entry

    return list(entry(name).load().config_type.model_fields)


def env_config(config: TrainConfig) -> EnvConfig:
    """Settings of the environment of a training."""
    from mayavi.gym_env import entry
    from mayavi.gym_env.configuration import configured

    settings: EnvConfig = configured(entry(config.env).load().config_type, config.env_config)
    return settings


def needs_chain(config: TrainConfig) -> bool:
    """Whether the environment runs on a chain; a portfolio does not."""
    return "chain" in env_settings(config.env)


def world_of(config: TrainConfig) -> WorldSource:
    """World that `source` names: `replica`, `snapshot:PATH` or `rpc` (MAYAVI_RPC_URL, which is never stored)."""
    return WorldSource.named(config.source, block=config.block)


def pin_block(config: TrainConfig) -> TrainConfig:
    """Replace the node's latest block by its current number, so that all processes open the same state."""
    if config.source != "rpc" or config.block is not None or not needs_chain(config):
        return config
    fork = world_of(config).on(str(config.env_config.get("chain", "ethereum"))).open()
    fork.close()
    return config.model_copy(update={"block": int(fork.source["block"])})


def make_training_rows(
    config: TrainConfig, rows: int, *, threads: int | None = None, specialise: str | None = None
) -> RowsEnv[Any]:
    """Make the rows of the training environment."""
    from mayavi.gym_env import make_rows

    return make_rows(
        config.env, rows, config=config.env_config, world=world_of(config), threads=threads, specialise=specialise
    )


def check_runs_on_device(config: TrainConfig) -> None:
    """Raise `UsageError` with the reason if the rows are wanted on a device, and the environment does not run there."""
    if not config.rows_on_device:
        return
    from mayavi.evm.devices import check_specialised
    from mayavi.gym_env import entry
    from mayavi.gym_env.device.kinds import whole_environment

    check_specialised()
    try:
        whole_environment(entry(config.env).load())
    except UsageError as error:
        raise UsageError(
            error.message, "`--device auto` keeps the environment on the processor, and the network on the GPU"
        ) from None


def env_facts(config: TrainConfig) -> EnvFacts:
    """Facts about the environment; `UsageError` if the algorithm does not support its roles or action space."""
    facts = facts_of(make_training_rows(config, 1))
    if len(facts.roles) > 1 and config.algorithm != "ppo":
        raise UsageError(f"the {facts.name} supports only PPO", "leave --algorithm out")
    if len(facts.roles) > 1 and config.framework != "rllib":
        raise UsageError(
            f"'{facts.name}' has several agents, and {TITLES[config.framework]} trains one", "take --framework rllib"
        )
    if config.algorithm in {"sac", "cql"} and facts.discrete:
        raise UsageError(
            f"{config.algorithm.upper()} needs continuous actions, and '{facts.name}' has discrete ones",
            "`--set actions=continuous`, or --algorithm ppo or dqn",
        )
    if config.algorithm == "dqn" and not facts.discrete:
        raise UsageError(
            f"DQN needs discrete actions, and '{facts.name}' has continuous ones",
            "`--set actions=discrete`, or --algorithm ppo or sac",
        )
    return facts


def facts_of(env: RowsEnv[Any]) -> EnvFacts:
    """Facts about an existing environment."""
    roles = {role.name: (role.observation_space, role.action_space) for role in env.roles}
    return EnvFacts(env.name, roles, env.config.horizon, env.world_digest, env.world_name)
