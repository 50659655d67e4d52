"""In what trainings differ beyond their seed: what is pooled is told as one training, so this is told with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mayavi.rl.models import Model

_NO_PART_OF_IT = {"seed", "env", "env_config", "checkpoint_every_s", "checkpoint_every_steps"}
"""The seed is what may differ, when checkpoints are written changes nothing, the environment is told setting by
setting."""


def differing_settings(models: Mapping[str, Model]) -> dict[str, dict[str, Any]]:
    """By setting what each of `models` had, for those in which they are not all alike."""
    told = {name: _settings(model) for name, model in models.items()}
    every = dict.fromkeys(key for each in told.values() for key in each)
    found = {key: {name: each.get(key) for name, each in told.items()} for key in every}
    return {
        key: values
        for key, values in found.items()
        if any(one != next(iter(values.values())) for one in values.values())
    }


def _settings(model: Model) -> dict[str, Any]:
    """All that decided a training, defaults of its environment included, and how far it had come."""
    from mayavi.gym_env.configuration import configured
    from mayavi.gym_env.registry import entry

    config = model.config
    env = configured(entry(config.env).load().config_type, config.env_config).model_dump(mode="json")
    return {
        **{key: value for key, value in config.to_json().items() if key not in _NO_PART_OF_IT},
        **{f"env.{key}": value for key, value in env.items()},
        "steps": model.checkpoint().steps,
        "world_digest": model.record["world_digest"],
    }
