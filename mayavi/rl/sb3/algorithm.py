"""Stable-Baselines3 algorithms built from a `TrainConfig`, or loaded from a checkpoint."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from mayavi.rl.config import TrainConfig
from mayavi.rl.sb3.files import MODEL
from mayavi.rl.training.adam import spare_compiler
from mayavi.rl.training.global_rng import spread_seed

ACTIVATIONS = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}


class LinearSchedule:
    """Learning rate that moves linearly from `start` to `end` over the training."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def __call__(self, remaining: float) -> float:
        """Learning rate when the share `remaining` of the training is left."""
        return self.end + (self.start - self.end) * max(remaining, 0.0)


def algorithm_class(config: TrainConfig) -> type[BaseAlgorithm]:
    """SB3 or sb3-contrib class that trains `config`."""
    if config.recurrent:
        from sb3_contrib import RecurrentPPO

        recurrent: type[BaseAlgorithm] = RecurrentPPO
        return recurrent
    found: type[BaseAlgorithm] = {"ppo": PPO, "sac": SAC, "dqn": DQN}[config.algorithm]
    return found


def build_algorithm(config: TrainConfig, env: VecEnv) -> BaseAlgorithm:
    """New algorithm with the settings of `config`, seeded from its seed."""
    spare_compiler()
    common: dict[str, Any] = {
        "env": env,
        "learning_rate": _learning_rate(config),
        "batch_size": config.minibatch_size,
        "gamma": config.gamma,
        "seed": spread_seed(config.seed, "sb3"),
        "device": config.device,
    }
    if config.algorithm == "ppo":
        return _build_ppo(config, common)
    network = {"activation_fn": ACTIVATIONS[config.activation], "net_arch": list(config.network)}
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


def load_algorithm(config: TrainConfig, folder: Path, device: str = "cpu", **options: Any) -> BaseAlgorithm:
    """Algorithm saved in the checkpoint `folder`; `options` go to SB3's `load`."""
    spare_compiler()
    if config.learning_rate_end is not None:
        # Rebuilt, not unpickled: the file names the schedule's module, which may have moved since.
        rate = _learning_rate(config)
        options["custom_objects"] = {"learning_rate": rate, "lr_schedule": rate}
    return algorithm_class(config).load(folder / MODEL, device=device, **options)


def _learning_rate(config: TrainConfig) -> float | LinearSchedule:
    if config.learning_rate_end is None:
        return config.learning_rate
    return LinearSchedule(config.learning_rate, config.learning_rate_end)


def _build_ppo(config: TrainConfig, common: dict[str, Any]) -> BaseAlgorithm:
    widths = list(config.network)
    network: dict[str, Any] = {
        "activation_fn": ACTIVATIONS[config.activation],
        "net_arch": {"pi": widths, "vf": widths},
        "log_std_init": math.log(config.initial_deviation),
    }
    if config.recurrent:
        network["lstm_hidden_size"] = config.lstm_size
    return algorithm_class(config)(
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
