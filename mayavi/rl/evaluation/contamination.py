"""Detect policies that were trained on, or selected by, the episodes of an evaluation.

An evaluation then prints a warning; a backtest refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mayavi.gym_env.configuration import Split, configured
from mayavi.gym_env.rows import RowsEnv
from mayavi.rl.evaluation.fingerprints import states
from mayavi.rl.training.validation import SPLIT

if TYPE_CHECKING:
    from mayavi.rl.models import Model


def seen(model: Model, env: RowsEnv[Any], of_split: Callable[[str], RowsEnv[Any]]) -> dict[str, str]:
    """Describe how the training of `model` used the episodes of `env`; empty if it did not.

    `of_split` makes the environment of another split.
    """
    played = env.config
    trained = configured(type(played), model.config.env_config)
    overlap = env.training_overlap(trained)
    if overlap is not None:
        return {"seen": overlap} if overlap else {}
    if trained.start == played.start == "fixed" and (
        trained.split == played.split or _first_start(env) == _first_start(of_split(trained.split))
    ):
        return {"seen": "was trained on the fixed start"}
    how = split_known(model, trained.split, played.split)
    return {"seen": how} if how else {}


def split_known(model: Model, trained: Split, played: Split) -> str:
    """Describe how a training on the split `trained` used the split `played`; empty if it did not."""
    if trained == played:
        return f"was trained on the {played} split"
    # Not trained on, but the best checkpoint was chosen there.
    return f"was chosen on the {SPLIT} split" if played == SPLIT and model.config.evaluate_every else ""


def _first_start(env: RowsEnv[Any]) -> bytes:
    """Identity of the start of episode 0 with its price path, which a fixed start may still draw."""
    env.begin([0], [0])
    return states(env, [0])[0]
