"""Settings in which pooled trainings differ beyond their seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mayavi.rl.models import Model

_IGNORED = {"seed", "env", "env_config", "checkpoint_every_s", "checkpoint_every_steps"}
"""Settings not compared: seeds may differ, checkpoints change no result, and `env` settings are compared singly."""


def differing_settings(models: Mapping[str, Model]) -> dict[str, dict[str, Any]]:
    """Settings that differ between `models`: by setting, the value of each model."""
    given = {name: _settings(model) for name, model in models.items()}
    every = dict.fromkeys(key for each in given.values() for key in each)
    found = {key: {name: each.get(key) for name, each in given.items()} for key in every}
    return {
        key: values
        for key, values in found.items()
        if any(one != next(iter(values.values())) for one in values.values())
    }


def _settings(model: Model) -> dict[str, Any]:
    """All settings of a training with the defaults of its environment, its steps and its world."""
    from mayavi.gym_env.configuration import configured
    from mayavi.gym_env.registry import entry

    config = model.config
    env = configured(entry(config.env).load().config_type, config.env_config).model_dump(mode="json")
    return {
        **{key: value for key, value in config.to_json().items() if key not in _IGNORED},
        **{f"env.{key}": value for key, value in env.items()},
        "steps": model.checkpoint().steps,
        "world_digest": model.record["world_digest"],
    }
