"""Plan of a grid: one training for every combination of settings and every seed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mayavi.errors import UsageError
from mayavi.rl.config import TrainConfig, parse_settings
from mayavi.rl.env_defaults import MARKET
from mayavi.rl.environments import env_facts, env_settings, pin_block
from mayavi.rl.training.frameworks import check_installed, versions
from mayavi.rl.training.memory_ceiling import MemoryEstimate, check_ceiling, estimate
from mayavi.scenarios.sweep.plan import parse_grid, parse_seeds

MOST_TRAININGS = 10_000
NOT_VARIED = {
    "env": "rewards of two environments cannot be compared",
    "source": "policies of two worlds would be compared on one of them",
    "block": "policies of two worlds would be compared on one of them",
    "seed": "give the seeds with --seeds 0:5",
    "test_episodes": "it concerns only the evaluation of the best settings",
    "evaluate_episodes": "all settings are compared on the same episodes",
}
"""Settings that no grid varies, and why."""
IGNORED = {"test_episodes", "checkpoint_every_s", "checkpoint_every_steps"}
"""Settings that do not change what is trained."""


@dataclass(frozen=True, slots=True)
class GridTask:
    """One training of a grid."""

    point: int
    seed: int
    config: TrainConfig
    key: str
    """Digest of everything that decides what is trained: settings, world and versions."""


@dataclass(frozen=True, slots=True)
class GridPlan:
    """All trainings of a grid, seed by seed."""

    base: TrainConfig
    """Settings without those of the grid; policies are compared on its environment."""
    points: tuple[tuple[str, ...], ...]
    """Settings of each point: `("learning_rate=1e-3",)`; one empty point without a grid."""
    seeds: tuple[int, ...]
    tasks: tuple[GridTask, ...]

    @property
    def grid_id(self) -> str:
        """Id of the grid: equal for equal trainings."""
        return f"grid-{_digest([each.key for each in self.tasks])[:16]}"

    def describe_point(self, point: int) -> str:
        """Settings of a point in one line."""
        return " ".join(self.points[point]) or "as given"


def plan_grid(
    layers: Sequence[Mapping[str, Any]],
    axes: Sequence[str],
    seeds: str | None = None,
    *,
    check_memory: Callable[[MemoryEstimate], None] = check_ceiling,
) -> GridPlan:
    """Plan the trainings of the settings in `layers` with every value of `axes` (`learning_rate=1e-3,3e-4`).

    Checks every combination before anything is trained: names and values of settings, spaces, memory.
    """
    base = pin_block(_with_runners(TrainConfig.of(*layers)))
    chosen = parse_seeds(seeds) if seeds is not None else (base.seed,)
    points = parse_grid(axes) or ((),)
    if len(points) * len(chosen) > MOST_TRAININGS:
        raise UsageError(
            f"{len(points) * len(chosen):,} trainings are more than a grid holds", f"at most {MOST_TRAININGS:,}"
        )
    if base.env == MARKET:
        raise UsageError(
            "a market has no best settings: the reward of a role depends on the opponents trained with it",
            "train seed by seed, `mayavi train --env market --seed N`, and pool the runs: `mayavi eval RUN RUN …`",
        )
    known = env_settings(base.env)
    for axis in axes:
        _check_axis(axis.partition("=")[0].strip())
    settings = [parse_settings(point, known) for point in points]
    configs = [_with_runners(TrainConfig.of(base.to_json(), each)) for each in settings]
    digest = _check_configs(base, configs, points, check_memory)
    tasks = tuple(
        _task(at, TrainConfig.of(config.to_json(), {"seed": seed}), digest)
        for seed in chosen
        for at, config in enumerate(configs)
    )
    if len({each.key for each in tasks}) < len(tasks):
        raise UsageError("two points of the grid are the same training", "leave out values that mean the same")
    return GridPlan(base, tuple(points), chosen, tasks)


def _check_axis(name: str) -> None:
    if (why := NOT_VARIED.get(name)) is not None:
        raise UsageError(f"a grid cannot vary '{name}'", why)


def _with_runners(config: TrainConfig) -> TrainConfig:
    """Without `runners` a training of a grid plays its rollouts itself: the grid already uses all cores."""
    if config.framework == "rllib" and config.runners is None:
        return config.model_copy(update={"runners": 0})
    return config


def _check_configs(
    base: TrainConfig,
    configs: Sequence[TrainConfig],
    points: Sequence[tuple[str, ...]],
    check_memory: Callable[[MemoryEstimate], None],
) -> str:
    """Check every point as a training would, and that all policies fit the same environment. Returns its digest."""
    wanted = None
    for config, point in zip(configs, points, strict=True):
        check_installed(config.framework)
        facts = env_facts(config)
        check_memory(estimate(config, facts.sizes(), discrete=facts.discrete))
        wanted = wanted or env_facts(base.model_copy(update={"algorithm": config.algorithm}))
        if facts.to_json() != wanted.to_json():
            raise UsageError(
                f"{' '.join(point)} changes what a policy observes or does, so that it cannot be compared on the "
                "environment of the others",
                "make one grid for each, with `--set`",
            )
    assert wanted is not None
    return wanted.world_digest


def _task(point: int, config: TrainConfig, world_digest: str) -> GridTask:
    settings = {name: value for name, value in config.to_json().items() if name not in IGNORED}
    return GridTask(point, config.seed, config, _digest([settings, world_digest, versions(config.framework)]))


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
