"""How far a training is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrainProgress:
    """Told between two rollouts. `mean_reward` is that of the last hundred episodes, None before the first;
    `validation` the mean of the last evaluation on the validation split, None where there was none."""

    steps: int
    timesteps: int
    episodes: int
    mean_reward: float | None
    seconds: float
    validation: float | None = None

    @property
    def note(self) -> str:
        """The reward in a few words, for a line of progress."""
        told = (("mean reward", self.mean_reward), ("on validation", self.validation))
        return ", ".join(f"{what} {value:.6g}" for what, value in told if value is not None)


Progress = Callable[[TrainProgress], None]
