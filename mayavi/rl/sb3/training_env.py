"""Vectorised environment as the Stable-Baselines3 trainer sees it."""

from __future__ import annotations

from typing import Any

from stable_baselines3.common.vec_env import VecEnvWrapper

from mayavi.gym_env.adapters.sb3 import RowsVecEnv
from mayavi.rl.config import TrainConfig
from mayavi.rl.training.normaliser import Lens, Normaliser, seen_space
from mayavi.rl.training.training_signal import TrainingSignal


class TrainingRows(VecEnvWrapper):  # type: ignore[misc]  # no types there
    """Rows with normalised observations, and the rewards and episode ends of the training's signal."""

    def __init__(self, rows: RowsVecEnv, config: TrainConfig, normaliser: Normaliser | None) -> None:
        super().__init__(rows, observation_space=seen_space(config, rows.observation_space))
        self.rows, self.signal = rows, TrainingSignal.of(config)
        self.lens: Lens | None = None
        if normaliser is not None:
            self.lens = Lens(config.gamma, rows.num_envs, rows.observation_space.shape, normaliser)
        self.episodes = 0

    def reset(self) -> Any:
        """Start an episode in every row."""
        observations = self.venv.reset()
        return observations if self.lens is None else self.lens.observe(observations)

    def step_wait(self) -> Any:
        """Step all rows."""
        observations, rewards, done, infos = self.venv.step_wait()
        if self.lens is not None:
            observations, rewards = self.lens.observe(observations), self.lens.reward(rewards, done)
        for row in done.nonzero()[0]:
            infos[row]["TimeLimit.truncated"] = self.signal.ends(False, infos[row]["TimeLimit.truncated"])[1]
            if self.lens is not None:
                last = infos[row]["terminal_observation"]
                infos[row]["terminal_observation"] = self.lens.now.observations(last)
        self.episodes += int(done.sum())
        return observations, self.signal.reward(rewards), done, infos

    def update_statistics(self) -> None:
        """Merge the observations and returns recorded since the last update into the normaliser."""
        if self.lens is not None:
            self.lens.now.merge(self.lens.take())
