"""One rule for rewards and ends, for single rows, batches and agents."""

from __future__ import annotations

import numpy as np

from mayavi.rl.config import TrainConfig
from mayavi.rl.training.training_signal import TrainingSignal


def test_rewards_are_scaled_and_keep_their_type() -> None:
    signal = TrainingSignal.of(TrainConfig(env="aave", reward_scale=4.0))
    scaled = signal.reward(np.array([0.5, -1.0], dtype=np.float32))
    assert scaled.tolist() == [2.0, -4.0]
    assert scaled.dtype == np.float32
    assert signal.reward(0.25) == 1.0


def test_the_horizon_is_an_end_unless_values_are_bootstrapped_there() -> None:
    terminated, truncated = np.array([True, False, False]), np.array([False, True, False])
    ended, cut = TrainingSignal().ends(terminated, truncated)
    assert (ended.tolist(), cut.tolist()) == ([True, True, False], [False] * 3)
    assert TrainingSignal().ends(False, True) == (True, False)
    kept = TrainingSignal(bootstrap_at_horizon=True).ends(terminated, truncated)
    assert [each.tolist() for each in kept] == [terminated.tolist(), truncated.tolist()]
