"""RLlib algorithm configurations built from a `TrainConfig`, equivalent to those of Stable-Baselines3."""

from __future__ import annotations

import math
from typing import Any

import torch

from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import EnvFacts
from mayavi.rl.rllib.env import register_training
from mayavi.rl.training.global_rng import spread_seed
from mayavi.rl.training.memory_ceiling import CQL_DRAWN_ACTIONS

_NO_CLIP = 1e12  # RLlib clips the value's error, stable-baselines3 does not


def on_gpu(config: TrainConfig) -> bool:
    """Whether the network learns on a GPU."""
    return config.device == "cuda" or (config.device == "auto" and torch.cuda.is_available())


def algorithm_config(config: TrainConfig, facts: EnvFacts, runners: int) -> Any:
    """RLlib's `AlgorithmConfig` for a training with `runners` remote runners."""
    rows_per_runner = -(-config.num_envs // max(runners, 1))
    made = _common_config(config, facts, runners, rows_per_runner)
    training: dict[str, Any] = {
        "gamma": config.gamma,
        "grad_clip": config.max_grad_norm,
        "grad_clip_by": "global_norm",
    }
    rows = rows_per_runner * max(runners, 1)
    if config.algorithm == "ppo":
        return made.training(**_ppo_settings(config, rows), **training)
    if config.algorithm == "cql":
        return _cql_settings(config, made, training)
    made = made.reporting(min_sample_timesteps_per_iteration=1)
    training |= _replay_settings(config, rows)
    rate = _learning_rate(config)
    if config.algorithm == "sac":
        return made.training(actor_lr=rate, critic_lr=rate, alpha_lr=rate, lr=None, tau=config.tau, **training)
    exploration_steps = max(1, int(config.exploration_share * config.timesteps))
    return made.training(
        lr=rate,
        double_q=False,
        dueling=False,
        num_atoms=1,
        epsilon=[(0, 1.0), (exploration_steps, config.exploration_end)],
        target_network_update_freq=config.target_update_every,
        **training,
    )


def set_initial_deviation(algorithm: Any, deviation: float) -> None:
    """Set the standard deviation of fresh Gaussian policies: the second half of their outputs is its logarithm."""
    for policy in algorithm.learner_group._learner.module.values():
        output = [each for each in policy.pi.modules() if isinstance(each, torch.nn.Linear)][-1]
        with torch.no_grad():
            output.bias[len(output.bias) // 2 :] += math.log(deviation)
    algorithm.env_runner_group.sync_weights(from_worker_or_learner_group=algorithm.learner_group)


def _common_config(config: TrainConfig, facts: EnvFacts, runners: int, rows_per_runner: int) -> Any:
    """Settings of environment, runners, learner and network, common to all algorithms."""
    from ray.rllib.algorithms.dqn import DQNConfig
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.algorithms.sac import SACConfig

    from mayavi.gym_env.adapters.rllib import multi_agent, vectorize_mode

    made: Any
    if config.algorithm == "cql":
        from mayavi.rl.rllib.offline import new_cql_config

        made = new_cql_config()
    else:
        made = {"ppo": PPOConfig, "sac": SACConfig, "dqn": DQNConfig}[config.algorithm]()
    return (
        made.environment(
            **register_training(config),
            # PPO's actions are the environment's own, clipped; SAC's are squashed and scaled to the space.
            normalize_actions=config.algorithm in {"sac", "cql"},
            clip_actions=config.algorithm == "ppo",
        )
        .env_runners(
            num_env_runners=runners,
            num_envs_per_env_runner=rows_per_runner,
            gym_env_vectorize_mode=vectorize_mode(config.env),
            rollout_fragment_length=config.rollout_steps if config.algorithm == "ppo" else config.train_every,
        )
        .multi_agent(**multi_agent(config.env))
        .learners(num_learners=0, num_gpus_per_learner=1 if on_gpu(config) else 0)
        # A restarted runner would silently play other episodes than the lost one.
        .fault_tolerance(restart_failed_env_runners=False)
        .debugging(seed=spread_seed(config.seed, "rllib"), log_level="ERROR")
        .rl_module(model_config=_network(config, facts))
        .reporting(metrics_num_episodes_for_smoothing=100, min_time_s_per_iteration=0)
    )


def _ppo_settings(config: TrainConfig, rows: int) -> dict[str, Any]:
    return {
        "lr": _learning_rate(config),
        "train_batch_size_per_learner": config.rollout_steps * rows,
        "minibatch_size": config.minibatch_size,
        "num_epochs": config.epochs,
        "shuffle_batch_per_epoch": True,
        "lambda_": config.gae_lambda,
        "clip_param": config.clip_range,
        "entropy_coeff": config.entropy_coefficient,
        "vf_loss_coeff": config.value_coefficient,
        "vf_clip_param": _NO_CLIP,
        "use_kl_loss": config.target_kl is not None,
        "kl_target": config.target_kl or 0.01,
    }


def _cql_settings(config: TrainConfig, made: Any, training: dict[str, Any]) -> Any:
    rate = _learning_rate(config)
    return (
        made.reporting(min_sample_timesteps_per_iteration=0, min_train_timesteps_per_iteration=0)
        .offline_data(dataset_num_iters_per_learner=1)  # RLlib demands it; batches come from `Steps`
        .training(
            actor_lr=rate,
            critic_lr=rate,
            alpha_lr=rate,
            lr=None,
            tau=config.tau,
            bc_iters=0,
            min_q_weight=config.conservative_weight,
            num_actions=CQL_DRAWN_ACTIONS,
            train_batch_size_per_learner=config.minibatch_size,
            replay_buffer_config={"type": "EpisodeReplayBuffer", "capacity": 1},  # unused
            **training,
        )
    )


def _replay_settings(config: TrainConfig, rows: int) -> dict[str, Any]:
    # RLlib takes as many gradient steps as it needs to learn from each played step `training_intensity` times.
    played = config.train_every * rows
    return {
        "train_batch_size_per_learner": config.minibatch_size,
        "training_intensity": config.gradient_steps * config.minibatch_size / played,
        "num_steps_sampled_before_learning_starts": config.learning_starts,
        "replay_buffer_config": {"type": "EpisodeReplayBuffer", "capacity": config.buffer_size},
    }


def _network(config: TrainConfig, facts: EnvFacts) -> Any:
    from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

    if config.recurrent:
        return DefaultModelConfig(
            fcnet_hiddens=list(config.network),
            fcnet_activation=config.activation,
            use_lstm=True,
            lstm_cell_size=config.lstm_size,
            max_seq_len=min(config.rollout_steps, facts.horizon),
            vf_share_layers=False,
        )
    if config.algorithm in {"sac", "cql"}:
        return DefaultModelConfig(
            fcnet_hiddens=list(config.network),
            fcnet_activation=config.activation,
            head_fcnet_hiddens=[],
            fusionnet_hiddens=list(config.network),
            fusionnet_activation=config.activation,
        )
    return DefaultModelConfig(
        fcnet_hiddens=list(config.network), fcnet_activation=config.activation, vf_share_layers=False
    )


def _learning_rate(config: TrainConfig) -> float | list[list[float]]:
    """Constant rate, or RLlib's schedule of (timestep, rate) pairs."""
    if config.learning_rate_end is None:
        return config.learning_rate
    return [[0, config.learning_rate], [config.timesteps, config.learning_rate_end]]
