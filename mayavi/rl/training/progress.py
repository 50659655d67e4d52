"""Progress of a training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrainProgress:
    """Figures of a training between two rollouts."""

    steps: int
    timesteps: int
    episodes: int
    mean_reward: float | None
    """Over the last hundred episodes; None before the first has ended."""
    seconds: float
    validation: float | None = None
    """Mean reward of the last evaluation on the validation split; None before the first."""

    @property
    def note(self) -> str:
        """Rewards as a short text for a progress line."""
        rewards = (("mean reward", self.mean_reward), ("on validation", self.validation))
        return ", ".join(f"{name} {value:.6g}" for name, value in rewards if value is not None)


Progress = Callable[[TrainProgress], None]
