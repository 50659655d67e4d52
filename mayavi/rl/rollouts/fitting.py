"""Check that recorded rollouts are of the environment of a training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mayavi.errors import ModelMismatch
from mayavi.gym_env.configuration import configured
from mayavi.gym_env.registry import entry
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import EnvFacts, env_config, world_of
from mayavi.rl.rollouts.file import read_facts
from mayavi.rl.spaces import describe_space


def rollouts_layer(path: Path) -> dict[str, Any]:
    """Settings of a training on the rollouts in `path`: their environment and its settings other than defaults."""
    facts = read_facts(path)
    defaults = configured(entry(facts["env"]).load().config_type).model_dump(mode="json")
    changed = {name: value for name, value in facts["env_config"].items() if defaults.get(name) != value}
    return {"env": facts["env"], "env_config": changed}


def check_rollouts(config: TrainConfig, facts: EnvFacts) -> None:
    """Raise `ModelMismatch` if the rollouts of a training are of another environment, setting or world."""
    if config.rollouts is None:
        return
    path = Path(config.rollouts)
    found = read_facts(path)
    if found["env"] != facts.name:
        raise ModelMismatch(
            f"the rollouts in '{path}' are of '{found['env']}', and the training is of '{facts.name}'",
            f"record some there: mayavi rollouts RUN --env {facts.name} --out FILE; or train with --env {found['env']}",
        )
    own = env_config(config).model_dump(mode="json")
    for name in sorted({*own, *found["env_config"]}):
        there, here = found["env_config"].get(name), own.get(name)
        if there != here:
            raise ModelMismatch(
                f"the rollouts in '{path}' were recorded with {name} {there!r}, and the training has {here!r}",
                f"`--set env.{name}={there}`, or record rollouts with the setting of the training",
            )
    given = facts.to_json()
    for space in ("observation_space", "action_space"):
        if found[space] != given[space]:
            raise ModelMismatch(
                f"the rollouts in '{path}' have another {space.replace('_', ' ')}: {_describe(found[space])}, and the "
                f"training has {_describe(given[space])}",
                "they were recorded with another version: record them again",
            )
    if found["world_digest"] != facts.world_digest:
        raise ModelMismatch(
            f"the rollouts in '{path}' were recorded on another world than '{world_of(config).name}' is now",
            "train on the world they were recorded on, or record them again",
        )


def _describe(space: Mapping[str, Any]) -> str:
    return str(describe_space(dict(space)))
