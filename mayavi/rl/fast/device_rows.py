"""Rows on a device as our own PPO plays them: nothing is copied to the host within a rollout.

All episodes come from a table whose numbers the training's seed draws. Row r plays entries r, r + rows, r + 2 · rows, …
of it, modulo its length, so what a row plays does not depend on when other rows end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mayavi.gym_env.adapters.tensor_rows import TensorRows, open_tensor_rows, table_of
from mayavi.numerics.streams import stream
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import env_config, world_of
from mayavi.rl.fast.device_lens import DeviceLens
from mayavi.rl.fast.files import DEVICE_ROWS
from mayavi.rl.fast.step import Step
from mayavi.rl.training.normaliser import Normaliser
from mayavi.rl.training.training_signal import TrainingSignal

_ROWS = "rows."
"""Prefix of the arrays of the rows themselves among those of a checkpoint."""


class DeviceTrainingRows:
    """Rows on a device with normalised observations and the training's signal."""

    file = DEVICE_ROWS

    def __init__(self, config: TrainConfig, normaliser: Normaliser | None, play: TensorRows) -> None:
        self.env, self.device = play, play.torch_device
        self.signal = TrainingSignal.of(config)
        self.lens: DeviceLens | None = None
        if normaliser is not None:
            self.lens = DeviceLens(config.gamma, play.rows, normaliser, self.device)
        self.episodes = 0
        self.mean_reward: float | None = None
        """Mean return of the episodes that ended in the last rollout in which any did."""
        self._returns = torch.zeros(play.rows, dtype=torch.float64, device=self.device)
        self._ended = torch.zeros(2, dtype=torch.float64, device=self.device)
        """Number and sum of the returns of the episodes that ended since the last update."""

    def begin(self, seed: int) -> None:
        """Start an episode in every row; the seed of the training has drawn the table of them."""
        self.env.begin()
        if self.lens is not None:
            self.lens.observe(self.env.observations)

    @property
    def observations(self) -> Tensor:
        """Normalised observations of all rows: (rows, numbers)."""
        return self.normalised(self.env.observations)

    def normalised(self, observations: Tensor) -> Tensor:
        """Normalise observations without recording them, as (rows, numbers)."""
        return (observations if self.lens is None else self.lens.observations(observations)).flatten(1)

    def step(self, actions: Tensor) -> Step:
        """Play `actions` and start the next episodes of rows whose episode ended."""
        self.env.step(actions)
        rewards, done = self.env.rewards.float(), self.env.terminated | self.env.truncated
        self._returns += self.env.rewards
        self._ended += torch.stack([done.sum(), (self._returns * done).sum()])
        self._returns.masked_fill_(done, 0.0)
        if self.lens is not None:
            self.lens.observe(self.env.observations)
            rewards = self.lens.reward(rewards, done)
        cut = self.env.truncated if self.signal.bootstrap_at_horizon else None
        if self.signal.reward_scale != 1.0:
            rewards = rewards * self.signal.reward_scale
        return Step(rewards, done, cut, self.env.final_observations)

    def update_statistics(self) -> None:
        """Merge what was recorded since the last update, and count the episodes that ended: one copy to the host."""
        if self.lens is not None:
            self.lens.update()
        ended, total = self._ended.tolist()
        self._ended.zero_()
        if ended:
            self.episodes += int(ended)
            self.mean_reward = total / ended

    def normaliser(self) -> Normaliser | None:
        """Statistics in use, on the host."""
        return None if self.lens is None else self.lens.download()

    def save(self, folder: Path) -> None:
        """Write unfinished episodes of all rows, and what was counted so far, into a checkpoint's folder."""
        found: dict[str, NDArray[Any]] = {f"{_ROWS}{name}": each for name, each in self.env.state().items()}
        found |= {"returns": self._returns.cpu().numpy(), "episodes": np.array(self.episodes)}
        found["mean_reward"] = np.array(np.nan if self.mean_reward is None else self.mean_reward)
        if self.lens is not None:
            found["sums"] = self.lens.sums.cpu().numpy()
        np.savez(folder / self.file, allow_pickle=False, **found)

    def restore(self, folder: Path) -> None:
        """Resume from what rows of the same training saved."""
        with np.load(folder / self.file) as state:
            rows = {name.removeprefix(_ROWS): state[name] for name in state.files if name.startswith(_ROWS)}
            self.env.restore(rows)
            self._returns.copy_(torch.as_tensor(state["returns"]))
            self.episodes, mean = int(state["episodes"]), float(state["mean_reward"])
            if self.lens is not None:
                self.lens.sums.copy_(torch.as_tensor(state["sums"]))
        self.mean_reward = None if np.isnan(mean) else mean


def start_table(config: TrainConfig) -> list[int]:
    """Numbers of the episodes that the rows play in turn, drawn from the training's seed."""
    return table_of(stream(config.seed, "training", "table of starts"), config.start_episodes)


def table_record(episodes: Sequence[int]) -> dict[str, Any]:
    """Describe a table of starts for `run.json`."""
    digest = hashlib.sha256(np.array(episodes, dtype="<i8").tobytes()).hexdigest()
    return {"episodes": len(episodes), "first": list(episodes[:4]), "sha256": digest}


def open_device_rows(config: TrainConfig, episodes: Sequence[int]) -> TensorRows:
    """Open the rows of a training on its device."""
    return open_tensor_rows(config.env, env_config(config), config.num_envs, episodes, config.device, world_of(config))
