"""The environment of a training: its world, its rows, and what is known of it before anything is trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.errors import UsageError
from mayavi.rl.checkpoints import described
from mayavi.rl.config import TrainConfig
from mayavi.scenarios.world_source import WorldSource

if TYPE_CHECKING:
    from gymnasium import spaces

    from mayavi.gym_env.rows import RowsEnv


@dataclass(frozen=True, slots=True)
class EnvFacts:
    """What a trainer must know of an environment."""

    name: str
    observation_space: spaces.Box
    action_space: spaces.Space[Any]
    horizon: int
    world_digest: str

    @property
    def discrete(self) -> bool:
        """Whether an action is one of a few."""
        return hasattr(self.action_space, "n")

    @property
    def observations(self) -> int:
        """How many numbers are observed."""
        count = 1
        for each in self.observation_space.shape:
            count *= each
        return count

    @property
    def actions(self) -> int:
        """How many choices there are, or how many numbers an action has."""
        return int(getattr(self.action_space, "n", 0)) or int(self.action_space.shape[0])  # type: ignore[index]

    def to_json(self) -> dict[str, Any]:
        """For `run.json` and each checkpoint."""
        return {
            "env": self.name,
            "observation_space": described(self.observation_space),
            "action_space": described(self.action_space),
        }


def world_of(config: TrainConfig) -> WorldSource:
    """The world that `source` names: `replica`, `snapshot:PATH` or `rpc` (its URL is MAYAVI_RPC_URL, and never kept)."""
    kind, _, path = config.source.partition(":")
    return WorldSource.of(kind, snapshot=Path(path) if path else None, block=config.block)


def make_training_rows(config: TrainConfig, rows: int) -> RowsEnv[Any]:
    """The environment that is trained on."""
    from mayavi.gym_env import make_rows

    return make_rows(config.env, rows, config=config.env_config, world=world_of(config))


def env_facts(config: TrainConfig) -> EnvFacts:
    """What is known of the environment; `UsageError` where the algorithm cannot act in it."""
    env = make_training_rows(config, 1)
    facts = EnvFacts(env.name, env.observation_space, env.action_space, env.config.horizon, env.world_digest)
    if config.algorithm == "sac" and facts.discrete:
        raise UsageError(
            f"SAC needs continuous actions, and '{facts.name}' takes one of {facts.actions}",
            "`--set actions=continuous`, or --algorithm ppo or dqn",
        )
    if config.algorithm == "dqn" and not facts.discrete:
        raise UsageError(
            f"DQN needs discrete actions, and '{facts.name}' takes numbers",
            "`--set actions=discrete`, or --algorithm ppo or sac",
        )
    return facts
