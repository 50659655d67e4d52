"""What a training without checkpoints says depends on its status."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mayavi.errors import CheckpointError
from mayavi.rl.models import Model
from mayavi.rl.training_runs.folder import RunFolder
from tests.rl.training_runs.stored import stored_training


def _without_checkpoints(models: Path, status: str) -> RunFolder:
    folder = stored_training(models, "mine", status=status)
    shutil.rmtree(folder.checkpoints_path)
    return folder


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ("failed", "run mine has no checkpoint: its training failed before the first"),
        ("interrupted", "run mine has no checkpoint: its training was interrupted before the first"),
        ("training", "run mine has no checkpoint: its training was interrupted before the first"),  # by SIGKILL
    ],
)
def test_a_training_that_ended_early_is_to_be_resumed(tmp_path: Path, status: str, message: str) -> None:
    model = Model(_without_checkpoints(tmp_path, status))
    with pytest.raises(CheckpointError) as caught:
        model.checkpoint()
    assert caught.value.message == message
    option = f" --models {model.path.parent}"
    assert caught.value.hint == f"`mayavi train --resume mine{option}` begins it again, or train a new one"


def test_a_training_that_goes_on_is_waited_for(tmp_path: Path) -> None:
    folder = _without_checkpoints(tmp_path, "training")
    with folder.held(), pytest.raises(CheckpointError, match="has no checkpoint yet") as caught:
        Model(folder).checkpoint()
    assert "wait for the first" in (caught.value.hint or "")
