"""Record the rollouts of a trained policy or a baseline to a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.errors import UsageError
from mayavi.gym_env.registry import entry, make_rows
from mayavi.gym_env.rows import RowsEnv
from mayavi.rl.environments import facts_of, world_of
from mayavi.rl.evaluation.noise import Disturbed, Noise
from mayavi.rl.evaluation.strategies import OPTIMUM, Strategy, Trained, baseline
from mayavi.rl.rollouts.file import write_rollouts
from mayavi.rl.rollouts.record import ROWS, check_single_agent, record_episodes
from mayavi.runs.versions import own_versions

if TYPE_CHECKING:
    from mayavi.rl.models import Model
    from mayavi.worlds.source import WorldSource

MOST_EPISODES = 1_000_000


@dataclass(frozen=True, slots=True)
class RolloutSettings:
    """Number of episodes, seed and noise of rollouts."""

    episodes: int = 200
    deterministic: bool = True
    seed: int = 0
    noise: Noise = field(default_factory=Noise)

    def __post_init__(self) -> None:
        if not 1 <= self.episodes <= MOST_EPISODES:
            raise UsageError(f"{self.episodes:,} episodes cannot be recorded", f"give 1 … {MOST_EPISODES:,}")

    @property
    def rows(self) -> int:
        """Number of episodes that are played at once."""
        return min(self.episodes, ROWS)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON data."""
        return {
            "episodes": self.episodes,
            "deterministic": self.deterministic,
            "seed": self.seed,
            "noise": self.noise.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Recorded:
    """A written file of rollouts."""

    path: Path
    facts: Mapping[str, Any]
    episodes: int
    steps: int


def record_model(
    model: Model,
    path: Path,
    settings: RolloutSettings,
    *,
    config: Mapping[str, Any] | None = None,
    world: WorldSource | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Recorded:
    """Record the policy of a training run; `config` changes settings of its environment."""
    from mayavi.rl.evaluation.models import model_facts
    from mayavi.rl.training.frameworks import versions

    name = model.config.algorithm
    env = model.make_env(settings.rows, world=world or world_of(model.config), **(config or {}))
    check_single_agent(env)
    strategy = Trained(name, model.policy(), settings.deterministic, settings.seed)
    facts = {"strategy": model_facts(name, model), "versions": versions(model.config.framework)}
    return _record(env, strategy, path, settings, facts, progress)


def record_baseline(
    env_name: str,
    strategy: str,
    path: Path,
    settings: RolloutSettings,
    *,
    config: Mapping[str, Any] | None = None,
    world: WorldSource | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Recorded:
    """Record a baseline of an environment, or `random`."""
    if strategy == OPTIMUM:
        raise UsageError("the optimum is a plan for each episode and is not recorded", "name another baseline")
    env = make_rows(entry(env_name).name, settings.rows, config=config or {}, world=world)
    check_single_agent(env)
    facts = {"strategy": {"name": strategy}, "versions": own_versions()}
    return _record(env, baseline(env, strategy, seed=settings.seed), path, settings, facts, progress)


def _record(
    env: RowsEnv[Any],
    strategy: Strategy,
    path: Path,
    settings: RolloutSettings,
    facts: Mapping[str, Any],
    progress: Callable[[int, int], None] | None,
) -> Recorded:
    found = {
        **facts_of(env).to_json(),
        "env_config": env.config.model_dump(mode="json"),
        "world_digest": env.world_digest,
        "settings": settings.to_json(),
        **facts,
    }
    player = Disturbed(strategy, settings.noise, settings.seed) if settings.noise else strategy
    episodes = record_episodes(env, player, range(settings.episodes), progress)
    return Recorded(path, found, *write_rollouts(path, found, episodes))
