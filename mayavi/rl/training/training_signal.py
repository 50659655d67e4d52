"""Rewards and episode ends as a trainer sees them: one rule for all frameworks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mayavi.rl.config import TrainConfig

R = TypeVar("R", NDArray[np.float64], NDArray[np.float32], float)
E = TypeVar("E", NDArray[np.bool_], bool)


@dataclass(frozen=True, slots=True)
class TrainingSignal:
    """Scales rewards, and makes the horizon an end unless a value is bootstrapped there."""

    reward_scale: float = 1.0
    bootstrap_at_horizon: bool = False

    @classmethod
    def of(cls, config: TrainConfig) -> TrainingSignal:
        """The signal that a training asks for."""
        return cls(config.reward_scale, config.bootstrap_at_horizon)

    def reward(self, reward: R) -> R:
        """`reward` times the scale."""
        return reward if self.reward_scale == 1.0 else reward * self.reward_scale

    def ends(self, terminated: E, truncated: E) -> tuple[E, E]:
        """Terminated and truncated: unless values are bootstrapped at the horizon, a cut is an end."""
        if self.bootstrap_at_horizon:
            return terminated, truncated
        return terminated | truncated, truncated & False
