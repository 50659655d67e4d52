"""Training on another block, offline: the environment opens the dated replica."""

from __future__ import annotations

import pytest

from mayavi.errors import UsageError
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import make_training_rows

JULY = 17_666_333


def test_the_setting_block_chooses_the_replica() -> None:
    dated = make_training_rows(TrainConfig(env="aave", block=JULY), 1)
    default = make_training_rows(TrainConfig(env="aave"), 1)
    numbered = make_training_rows(TrainConfig(env="aave", block=19_000_000), 1)
    assert dated.world_digest != default.world_digest == numbered.world_digest
    assert JULY <= dated.fleet.fork(0).block_number < 19_000_000  # type: ignore[attr-defined]


def test_a_block_without_a_replica_names_those_there_are() -> None:
    with pytest.raises(UsageError, match="no replica of ethereum at block 7") as refused:
        make_training_rows(TrainConfig(env="aave", block=7), 1)
    assert "17666333" in (refused.value.hint or "")
