"""A training on another block travels to Modal as the snapshot of that block, and comes home with its number."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi.rl.config import TrainConfig
from mayavi.rl.modal.training import train_on_modal
from mayavi.rl.models import open_model
from mayavi.rl.training.train import train
from tests.rl.modal.test_modal import SETTINGS, FolderVolume, locally

pytestmark = pytest.mark.slow


def test_the_block_is_trained_there_and_recorded_here(tmp_path: Path) -> None:
    config = TrainConfig.of(SETTINGS | {"block": 17_666_333})
    volume = FolderVolume(tmp_path / "volume")
    done = train_on_modal(config, models=tmp_path / "models", volume=volume, call=locally)
    here = train(config, models=tmp_path / "local")
    model = open_model(done.run_id, tmp_path / "models")
    assert model.config == config
    assert model.record["world_digest"] == open_model(here.run_id, tmp_path / "local").record["world_digest"]
    assert model.make_env(1).world_digest == model.record["world_digest"]
