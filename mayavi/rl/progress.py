"""How far a training is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrainProgress:
    """Told between two rollouts. `mean_reward` is that of the last hundred episodes, None before the first."""

    steps: int
    timesteps: int
    episodes: int
    mean_reward: float | None
    seconds: float

    @property
    def note(self) -> str:
        """The reward in a few words, for a line of progress."""
        return "" if self.mean_reward is None else f"mean reward {self.mean_reward:.6g}"


Progress = Callable[[TrainProgress], None]
