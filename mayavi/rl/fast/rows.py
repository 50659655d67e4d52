"""Rows on the processor as our own PPO plays them: tensors over their arrays, no Python object of a single row."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mayavi.gym_env.adapters.autoreset import AutoresetRows
from mayavi.gym_env.rows import Observations
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import make_training_rows
from mayavi.rl.fast.files import ROWS
from mayavi.rl.fast.step import Step
from mayavi.rl.training.global_rng import spread_seed
from mayavi.rl.training.normaliser import Lens, Normaliser
from mayavi.rl.training.training_signal import TrainingSignal

RECENT = 100
"""Number of episodes behind the mean reward of a training."""


class TrainingRows:
    """Rows that start their next episodes on their own, with normalised observations and the training's signal."""

    device = torch.device("cpu")
    file = ROWS

    def __init__(self, config: TrainConfig, normaliser: Normaliser | None) -> None:
        self.env = make_training_rows(config, config.num_envs)
        self.play = AutoresetRows(self.env, resumable=True)
        self.signal = TrainingSignal.of(config)
        self.lens: Lens | None = None
        if normaliser is not None:
            self.lens = Lens(config.gamma, config.num_envs, self.env.observation_space.shape, normaliser)
        self.episodes = 0
        self.recent: deque[float] = deque(maxlen=RECENT)
        """Returns of the last episodes."""
        self._raw: Observations

    def begin(self, seed: int) -> None:
        """Start an episode in every row."""
        self.play.seed(spread_seed(seed, "fast"))
        self.play.begin(np.ones(self.env.rows, dtype=np.bool_))
        self._raw = self.env.observe()
        if self.lens is not None:
            self.lens.observe(self._raw)

    @property
    def observations(self) -> Tensor:
        """Normalised observations of all rows: (rows, numbers)."""
        return self.normalised(self._raw)

    @property
    def mean_reward(self) -> float | None:
        """Mean return of the last episodes, None before the first has ended."""
        return sum(self.recent) / len(self.recent) if self.recent else None

    def step(self, actions: Tensor) -> Step:
        """Play `actions` and start the next episodes of rows whose episode ended."""
        stepped = self.play.step(actions.cpu().numpy())
        rewards: NDArray[Any] = stepped.rewards.astype(np.float32)
        done, last = stepped.done, stepped.observations
        self._raw = last
        if done.any():
            self.episodes += int(done.sum())
            self.recent.extend(self.play.returns[done].tolist())
            self.play.begin(done)
            self._raw = np.where(done.reshape(-1, *[1] * (last.ndim - 1)), self.env.observe(), last)
        if self.lens is not None:
            self.lens.observe(self._raw)
            rewards = self.lens.reward(rewards, done)
        _, cut = self.signal.ends(stepped.terminated, stepped.truncated)
        return Step(_tensor(self.signal.reward(rewards)), _tensor(done), _tensor(cut), _tensor(last))

    def normalised(self, observations: Observations | Tensor) -> Tensor:
        """Normalise observations without recording them, as (rows, numbers)."""
        found = np.asarray(observations) if self.lens is None else self.lens.now.observations(np.asarray(observations))
        return _tensor(found.astype(np.float32, copy=False)).flatten(1)

    def update_statistics(self) -> None:
        """Merge the observations and returns recorded since the last update into the normaliser."""
        if self.lens is not None:
            self.lens.now.merge(self.lens.take())

    def normaliser(self) -> Normaliser | None:
        """Statistics in use."""
        return None if self.lens is None else self.lens.now

    def save(self, folder: Path) -> None:
        """Write episodes and actions of all rows, RNGs and recent returns into a checkpoint's folder."""
        sums = None if self.lens is None else self.lens.sums.tolist()
        state = {"play": self.play.state(), "episodes": self.episodes, "recent": list(self.recent), "sums": sums}
        (folder / self.file).write_text(json.dumps(state), encoding="utf-8")

    def restore(self, folder: Path) -> None:
        """Resume from what rows of the same training saved."""
        state = json.loads((folder / self.file).read_text(encoding="utf-8"))
        self.play.restore(state["play"])
        self.episodes = int(state["episodes"])
        self.recent.extend(state["recent"])
        self._raw = self.env.observe()
        if self.lens is not None:
            self.lens.sums = np.array(state["sums"])


def _tensor(values: NDArray[Any]) -> Tensor:
    """Tensor over the memory of an array, or of a copy if the array is read-only."""
    return torch.from_numpy(np.require(values, requirements=["C", "W"]))
