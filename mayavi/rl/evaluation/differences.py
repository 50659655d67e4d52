"""Settings in which pooled trainings differ beyond their seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mayavi.rl.models import Model

_NO_PART_OF_IT = {"seed", "env", "env_config", "checkpoint_every_s", "checkpoint_every_steps"}
"""The seed may differ, checkpoints change no result, and the environment is compared setting by setting."""


def differing_settings(models: Mapping[str, Model]) -> dict[str, dict[str, Any]]:
    """The value of each of `models` for every setting in which they are not all equal."""
    given = {name: _settings(model) for name, model in models.items()}
    every = dict.fromkeys(key for each in given.values() for key in each)
    found = {key: {name: each.get(key) for name, each in given.items()} for key in every}
    return {
        key: values
        for key, values in found.items()
        if any(one != next(iter(values.values())) for one in values.values())
    }


def _settings(model: Model) -> dict[str, Any]:
    """All settings of a training, defaults of its environment included, its steps and its world."""
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
