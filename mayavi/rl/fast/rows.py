"""Rows as our own PPO plays them: arrays in, arrays out, no Python object of a single row."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mayavi.gym_env.adapters.autoreset import AutoresetRows
from mayavi.gym_env.rows import Observations
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import make_training_rows
from mayavi.rl.training.global_rng import spread_seed
from mayavi.rl.training.normaliser import Lens, Normaliser
from mayavi.rl.training.training_signal import TrainingSignal

RECENT = 100
"""Number of episodes behind the mean reward of a training."""


class Step(NamedTuple):
    """What a step of all rows gave."""

    rewards: NDArray[np.float32]
    done: NDArray[np.bool_]
    cut: NDArray[np.bool_]
    """Rows whose episode was cut off at the horizon, where its value goes on."""
    last: Observations
    """Observations before any new episode began, not normalised."""


class TrainingRows:
    """Rows that start their next episodes on their own, with normalised observations and the training's signal."""

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
    def observations(self) -> Observations:
        """Normalised observations of all rows."""
        return self._raw if self.lens is None else self.lens.now.observations(self._raw)

    @property
    def mean_reward(self) -> float | None:
        """Mean return of the last episodes, None before the first has ended."""
        return sum(self.recent) / len(self.recent) if self.recent else None

    def step(self, actions: NDArray[Any]) -> Step:
        """Play `actions` and start the next episodes of rows whose episode ended."""
        stepped = self.play.step(actions)
        done, rewards, last = stepped.done, stepped.rewards.astype(np.float32), stepped.observations
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
        return Step(self.signal.reward(rewards), done, cut, last)

    def normalised(self, observations: Observations) -> Observations:
        """Normalise observations without recording them."""
        return observations if self.lens is None else self.lens.now.observations(observations)

    def update_statistics(self) -> None:
        """Merge the observations and returns recorded since the last update into the normaliser."""
        if self.lens is not None:
            self.lens.now.merge(self.lens.take())

    def state(self) -> dict[str, Any]:
        """Episodes and actions of all rows, RNGs and recent returns, as JSON data."""
        sums = None if self.lens is None else self.lens.sums.tolist()
        return {"play": self.play.state(), "episodes": self.episodes, "recent": list(self.recent), "sums": sums}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Resume from the `state()` of rows of the same training."""
        self.play.restore(state["play"])
        self.episodes = int(state["episodes"])
        self.recent.extend(state["recent"])
        self._raw = self.env.observe()
        if self.lens is not None:
            self.lens.sums = np.array(state["sums"])
