"""Evaluate the policy of a finished training and store the result in its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.rl.evaluation.document import eval_name, write_eval
from mayavi.rl.evaluation.evaluate import Say
from mayavi.rl.evaluation.models import evaluate_models
from mayavi.rl.evaluation.settings import EvaluationSettings

if TYPE_CHECKING:
    from mayavi.rl.models import Model

TEST = "test"


def evaluate_training(
    model: Model,
    *,
    split: str = TEST,
    episodes: int | None = None,
    against: Sequence[str] | None = None,
    config: Mapping[str, Any] | None = None,
    say: Say | None = None,
) -> tuple[dict[str, Any], Path]:
    """Evaluate the last policy of a training as `mayavi eval RUN` does. Returns the document and its file.

    `episodes` is by default the setting `test_episodes`; `against` every baseline. `config` changes settings of the
    environment.
    """
    settings = EvaluationSettings(model.config.test_episodes if episodes is None else episodes)
    document = evaluate_models([model], against, settings, config={**(config or {}), "split": split}, say=say)
    path = model.folder.eval_path / eval_name(document)
    write_eval(document, path)
    return document, path
