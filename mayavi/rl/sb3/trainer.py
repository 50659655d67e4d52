"""Training with stable-baselines3: PPO, SAC and DQN, and sb3-contrib's recurrent PPO.

A checkpoint is taken between two rollouts. It holds the weights and the optimizer, all generators, where every row
stands (its episode and the actions it has seen) and, for SAC and DQN, what is remembered. A training that goes on from
it does what an undisturbed one does: on a CPU the final weights are the same, bit for bit.
"""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter, Logger
from stable_baselines3.common.vec_env import VecEnvWrapper

from mayavi.gym_env.adapters.sb3 import RowsVecEnv
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import make_training_rows
from mayavi.rl.training import global_rng
from mayavi.rl.training.checkpoints import Checkpoint
from mayavi.rl.training.normaliser import Lens, Normaliser, first_normaliser, seen_space
from mayavi.rl.training.session import Boundary, Session
from mayavi.rl.training.training_signal import TrainingSignal

MODEL = "model.zip"
ROWS, CHANCE, MEMORY, REPLAY = "rows.json", "chance.json", "memory.pt", "replay_buffer.pkl"
ACTIVATIONS = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}


class Schedule:
    """A learning rate that goes in a straight line from `start` to `end`."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def __call__(self, remaining: float) -> float:
        """The rate when that share of the training is left."""
        return self.end + (self.start - self.end) * max(remaining, 0.0)


class TrainingRows(VecEnvWrapper):  # type: ignore[misc]  # no types there
    """Rows as the trainer sees them: normalised, rewards scaled, the horizon an end unless it is to be a cut."""

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
        ended = int(done.sum())
        if self.lens is not None:
            observations, rewards = self.lens.observe(observations), self.lens.reward(rewards, done)
        if ended:
            self.episodes += ended
            for row in done.nonzero()[0]:
                infos[row]["TimeLimit.truncated"] = self.signal.ends(False, infos[row]["TimeLimit.truncated"])[1]
                if self.lens is not None:
                    last = infos[row]["terminal_observation"]
                    infos[row]["terminal_observation"] = self.lens.now.observations(last)
        return observations, self.signal.reward(rewards), done, infos

    def move_statistics(self) -> None:
        """Take in what was seen since the last time: the next rollout is seen through it."""
        if self.lens is not None:
            self.lens.now.merge(self.lens.take())


def algorithm_class(config: TrainConfig) -> type[BaseAlgorithm]:
    """The class that trains what `config` asks for."""
    if config.recurrent:
        from sb3_contrib import RecurrentPPO

        recurrent: type[BaseAlgorithm] = RecurrentPPO
        return recurrent
    found: type[BaseAlgorithm] = {"ppo": PPO, "sac": SAC, "dqn": DQN}[config.algorithm]
    return found


def train_with_sb3(config: TrainConfig, session: Session, resume: Checkpoint | None) -> None:
    """Train until the timesteps are reached. `session` hears of every rollout."""
    torch.set_num_threads(config.torch_threads)
    normaliser = Normaliser.read(resume.path) if resume and config.normalises else first_normaliser(config)
    rows = TrainingRows(RowsVecEnv(make_training_rows(config, config.num_envs), resumable=True), config, normaliser)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*primarily intended to run on the CPU.*")
        model = _loaded(config, rows, resume) if resume else _built(config, rows)
    session.record["device"] = str(model.device)
    if resume:
        on_gpu = model.device.type != "cpu"
        reason = "the arithmetic of a GPU is not the same twice" if on_gpu else ""
        session.resumed_from(resume, exact=not on_gpu, reason=reason)
    model.set_logger(Logger(folder=None, output_formats=[_Scalars(session)]))
    between = _Between(session, rows, config)
    left = config.timesteps - model.num_timesteps
    if left > 0:
        model.learn(left, callback=between, reset_num_timesteps=resume is None, log_interval=between.log_interval)
    rows.move_statistics()
    session.finish(between.boundary(model))


def _built(config: TrainConfig, rows: TrainingRows) -> BaseAlgorithm:
    rate: Any = config.learning_rate
    if config.learning_rate_end is not None:
        rate = Schedule(config.learning_rate, config.learning_rate_end)
    widths = list(config.network)
    network: dict[str, Any] = {"activation_fn": ACTIVATIONS[config.activation], "net_arch": widths}
    common: dict[str, Any] = {
        "env": rows,
        "learning_rate": rate,
        "batch_size": config.minibatch_size,
        "gamma": config.gamma,
        "seed": global_rng.spread_seed(config.seed, "sb3"),
        "device": config.device,
    }
    if config.algorithm == "ppo":
        network |= {"net_arch": {"pi": widths, "vf": widths}, "log_std_init": math.log(config.initial_deviation)}
        if config.recurrent:
            network["lstm_hidden_size"] = config.lstm_size
        kind = algorithm_class(config)
        return kind(
            "MlpLstmPolicy" if config.recurrent else "MlpPolicy",
            policy_kwargs=network,
            n_steps=config.rollout_steps,
            n_epochs=config.epochs,
            gae_lambda=config.gae_lambda,
            clip_range=config.clip_range,
            ent_coef=config.entropy_coefficient,
            vf_coef=config.value_coefficient,
            max_grad_norm=config.max_grad_norm,
            target_kl=config.target_kl,
            **common,
        )
    common |= {
        "policy_kwargs": network,
        "buffer_size": config.buffer_size,
        "learning_starts": config.learning_starts,
        "train_freq": config.train_every,
        "gradient_steps": config.gradient_steps,
    }
    if config.algorithm == "sac":
        return SAC("MlpPolicy", tau=config.tau, **common)
    return DQN(
        "MlpPolicy",
        target_update_interval=config.target_update_every,
        exploration_fraction=config.exploration_share,
        exploration_final_eps=config.exploration_end,
        max_grad_norm=config.max_grad_norm,
        **common,
    )


def _loaded(config: TrainConfig, rows: TrainingRows, resume: Checkpoint) -> BaseAlgorithm:
    kind = algorithm_class(config)
    model = kind.load(resume.path / MODEL, env=rows, device=config.device, force_reset=False)
    kept = json.loads((resume.path / ROWS).read_text(encoding="utf-8"))
    rows.rows.restore(kept["play"])
    rows.episodes = resume.facts["episodes"]
    if rows.lens is not None:
        rows.lens.sums = np.array(kept["sums"])
    model.action_space.np_random.bit_generator.state = kept["action_space"]
    if (resume.path / MEMORY).is_file():
        from sb3_contrib.common.recurrent.type_aliases import RNNStates

        model._last_lstm_states = RNNStates(*torch.load(resume.path / MEMORY, map_location=model.device))
    if (resume.path / REPLAY).is_file():
        model.load_replay_buffer(resume.path / REPLAY)
    global_rng.restore(json.loads((resume.path / CHANCE).read_text(encoding="utf-8")))  # last: loading seeds everything
    return model


class _Between(BaseCallback):  # type: ignore[misc]  # no types there
    """Tells the session of every moment between two rollouts."""

    def __init__(self, session: Session, rows: TrainingRows, config: TrainConfig) -> None:
        super().__init__()
        self.session, self.rows, self.config = session, rows, config
        self.log_interval = 1 if config.algorithm == "ppo" else 64
        self._first = True

    def _on_rollout_start(self) -> None:
        if not self._first:
            self.rows.move_statistics()
            self.session.at(self.boundary(self.model))
        self._first = False

    def _on_step(self) -> bool:
        return True

    def boundary(self, model: BaseAlgorithm) -> Boundary:
        """Now, when the last update is done and the next rollout has not begun."""
        recent = [each["r"] for each in model.ep_info_buffer or ()]
        files = [ROWS, CHANCE]
        if self.config.recurrent:
            files.append(MEMORY)
        if self.config.algorithm != "ppo":
            files.append(REPLAY)
        mean = float(sum(recent) / len(recent)) if recent else None
        return Boundary(
            model.num_timesteps, self.rows.episodes, mean, lambda path: self._save(model, path), tuple(files)
        )

    def _save(self, model: BaseAlgorithm, path: Path) -> None:
        generators = global_rng.state()
        model.save(path / MODEL)
        kept = {"play": self.rows.rows.state(), "action_space": model.action_space.np_random.bit_generator.state}
        if (lens := self.rows.lens) is not None:
            kept["sums"] = lens.sums.tolist()
            lens.now.write(path)
        (path / ROWS).write_text(json.dumps(kept), encoding="utf-8")
        (path / CHANCE).write_text(json.dumps(generators), encoding="utf-8")
        if self.config.recurrent:
            torch.save(tuple(model._last_lstm_states), path / MEMORY)
        if self.config.algorithm != "ppo":
            model.save_replay_buffer(path / REPLAY)


class _Scalars(KVWriter):  # type: ignore[misc]  # no types there
    """What stable-baselines3 logs, for the run's TensorBoard."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:
        """Log the numbers."""
        numbers = {name: float(value) for name, value in key_values.items() if isinstance(value, int | float)}
        self.session.scalars(numbers, step)

    def close(self) -> None:
        """The session closes what it opened."""
