"""Interface between our own PPO and the rows it plays, on either device."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from mayavi.rl.training.normaliser import Normaliser


class Step(NamedTuple):
    """What a step of all rows gave, as tensors on the device of the rows. The next step may overwrite them."""

    rewards: Tensor
    """float32."""
    done: Tensor
    cut: Tensor | None
    """Rows whose episode was cut off at the horizon, where its value goes on; None if there are never any."""
    last: Tensor
    """Observations before any new episode began, not normalised."""


class Rows(Protocol):
    """Rows that start their next episodes on their own, with normalised observations and the training's signal."""

    @property
    def env(self) -> Any:
        """Object with the `observation_space` and `action_space` of a row."""

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""

    @property
    def observations(self) -> Tensor:
        """Normalised observations of all rows: (rows, numbers), float32."""

    def step(self, actions: Tensor) -> Step:
        """Play `actions` and start the next episodes of rows whose episode ended."""

    def normalised(self, observations: Tensor) -> Tensor:
        """Normalise observations without recording them, as (rows, numbers)."""


class ResumableRows(Rows, Protocol):
    """Rows of a training, which can be saved between two rollouts."""

    file: str
    """Name of their file in a checkpoint."""
    episodes: int
    """Number of episodes that ended."""

    @property
    def mean_reward(self) -> float | None:
        """Mean return of the last episodes, None before the first has ended."""

    def begin(self, seed: int) -> None:
        """Start an episode in every row."""

    def update_statistics(self) -> None:
        """Merge what was recorded since the last update into the normaliser."""

    def normaliser(self) -> Normaliser | None:
        """Statistics in use."""

    def save(self, folder: Path) -> None:
        """Write the state of all rows into a checkpoint's folder."""

    def restore(self, folder: Path) -> None:
        """Resume from what rows of the same training saved."""
