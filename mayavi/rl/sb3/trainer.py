"""Training with Stable-Baselines3: PPO, SAC, DQN, and sb3-contrib's recurrent PPO.

Checkpoints are taken between two rollouts. They hold weights, optimizer, random generators, the episode and actions so
far of every row and, for SAC and DQN, the replay buffer. A resumed training therefore continues exactly: on a CPU its
final weights equal those of an uninterrupted training, bit for bit.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter, Logger

from mayavi.gym_env.adapters.sb3 import RowsVecEnv
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import make_training_rows
from mayavi.rl.sb3.algorithm import build_algorithm, load_algorithm
from mayavi.rl.sb3.files import LSTM_STATE, MODEL, REPLAY_BUFFER, RNG, ROWS
from mayavi.rl.sb3.training_env import TrainingRows
from mayavi.rl.training import global_rng
from mayavi.rl.training.normaliser import Normaliser, first_normaliser
from mayavi.rl.training.session import Boundary, Session
from mayavi.rl.training_runs.checkpoints import Checkpoint


def train_with_sb3(config: TrainConfig, session: Session, resume: Checkpoint | None) -> None:
    """Train until `config.timesteps`, reporting every rollout to `session`."""
    torch.set_num_threads(config.torch_threads)
    normaliser = Normaliser.read(resume.path) if resume and config.normalises else first_normaliser(config)
    rows = TrainingRows(RowsVecEnv(make_training_rows(config, config.num_envs), resumable=True), config, normaliser)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*primarily intended to run on the CPU.*")
        model = _restore(config, rows, resume) if resume else build_algorithm(config, rows)
    session.record["device"] = str(model.device)
    if resume:
        on_gpu = model.device.type != "cpu"
        session.resumed_from(resume, "GPU arithmetic is not deterministic" if on_gpu else "")
    model.set_logger(Logger(folder=None, output_formats=[_TensorBoardWriter(session)]))
    callback = _SessionCallback(session, rows, config)
    left = config.timesteps - model.num_timesteps
    if left > 0:
        model.learn(left, callback=callback, reset_num_timesteps=resume is None, log_interval=callback.log_interval)
    rows.update_statistics()
    rows.rows.env.keep_paths()
    session.finish(callback.boundary(model))


def _restore(config: TrainConfig, rows: TrainingRows, resume: Checkpoint) -> BaseAlgorithm:
    model = load_algorithm(config, resume.path, config.device, env=rows, force_reset=False)
    saved = json.loads((resume.path / ROWS).read_text(encoding="utf-8"))
    rows.rows.restore(saved["play"])
    rows.episodes = resume.facts["episodes"]
    if rows.lens is not None:
        rows.lens.sums = np.array(saved["sums"])
    model.action_space.np_random.bit_generator.state = saved["action_space"]
    if (resume.path / LSTM_STATE).is_file():
        from sb3_contrib.common.recurrent.type_aliases import RNNStates

        model._last_lstm_states = RNNStates(*torch.load(resume.path / LSTM_STATE, map_location=model.device))
    if (resume.path / REPLAY_BUFFER).is_file():
        model.load_replay_buffer(resume.path / REPLAY_BUFFER)
    global_rng.restore(json.loads((resume.path / RNG).read_text(encoding="utf-8")))  # last: loading seeds everything
    return model


class _SessionCallback(BaseCallback):  # type: ignore[misc]  # no types there
    """Reports the boundary between two rollouts to the session."""

    def __init__(self, session: Session, rows: TrainingRows, config: TrainConfig) -> None:
        super().__init__()
        self.session, self.rows, self.config = session, rows, config
        self.log_interval = 1 if config.algorithm == "ppo" else 64
        self._first = True

    def _on_rollout_start(self) -> None:
        if not self._first:
            self.rows.update_statistics()
            self.session.at(self.boundary(self.model))
        self._first = False

    def _on_step(self) -> bool:
        return True

    def boundary(self, model: BaseAlgorithm) -> Boundary:
        """Boundary after the last update and before the next rollout."""
        recent = [each["r"] for each in model.ep_info_buffer or ()]
        files = [ROWS, RNG]
        if self.config.recurrent:
            files.append(LSTM_STATE)
        if self.config.algorithm != "ppo":
            files.append(REPLAY_BUFFER)
        mean = float(sum(recent) / len(recent)) if recent else None
        return Boundary(
            model.num_timesteps, self.rows.episodes, mean, lambda path: self._save(model, path), tuple(files)
        )

    def _save(self, model: BaseAlgorithm, path: Path) -> None:
        generators = global_rng.state()
        model.save(path / MODEL)
        saved = {"play": self.rows.rows.state(), "action_space": model.action_space.np_random.bit_generator.state}
        if (lens := self.rows.lens) is not None:
            saved["sums"] = lens.sums.tolist()
            lens.now.write(path)
        (path / ROWS).write_text(json.dumps(saved), encoding="utf-8")
        (path / RNG).write_text(json.dumps(generators), encoding="utf-8")
        if self.config.recurrent:
            torch.save(tuple(model._last_lstm_states), path / LSTM_STATE)
        if self.config.algorithm != "ppo":
            model.save_replay_buffer(path / REPLAY_BUFFER)


class _TensorBoardWriter(KVWriter):  # type: ignore[misc]  # no types there
    """Forwards the scalars that SB3 logs to the session's TensorBoard log."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:
        """Log the numeric values."""
        numbers = {name: float(value) for name, value in key_values.items() if isinstance(value, int | float)}
        self.session.scalars(numbers, step)

    def close(self) -> None:
        """Do nothing: the session closes its own writer."""
