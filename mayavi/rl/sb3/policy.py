"""Policies trained with Stable-Baselines3."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mayavi.errors import CheckpointError
from mayavi.rl.config import TrainConfig
from mayavi.rl.policy import ActionDistribution, Categorical, Gaussian, Policy, State
from mayavi.rl.sb3.algorithm import load_algorithm
from mayavi.rl.training_runs.checkpoints import Checkpoint


def load_sb3_policy(config: TrainConfig, checkpoint: Checkpoint) -> Policy:
    """Load the policy of a checkpoint on the CPU."""
    try:
        model = load_algorithm(config, checkpoint.path)
    except Exception as error:
        trained = checkpoint.facts["versions"].get("stable_baselines3")
        raise CheckpointError(
            f"'{checkpoint.path}' cannot be loaded: {error}", f"it was saved by stable-baselines3 {trained}"
        ) from error
    return Sb3Policy(model, config)


class Sb3Policy(Policy):
    """PPO, recurrent PPO, SAC or DQN policy."""

    def __init__(self, model: Any, config: TrainConfig) -> None:
        super().__init__(model.observation_space, model.action_space)
        self.algorithm, self.recurrent = config.algorithm, config.recurrent
        self.network = model.policy
        self.network.set_training_mode(False)

    def distribution_of_normalised(
        self, observations: NDArray[np.float32], state: State | None
    ) -> tuple[ActionDistribution, State | None]:
        """Action distribution for normalised observations, and the next recurrent state."""
        with torch.no_grad():
            return self._forward(torch.as_tensor(observations), state)

    def _forward(self, observations: torch.Tensor, state: State | None) -> tuple[ActionDistribution, State | None]:
        if self.algorithm == "dqn":
            return Categorical(_array(self.network.q_net(observations)), greedy=True), None
        if self.algorithm == "sac":
            mean, log_std, _ = self.network.actor.get_action_dist_params(observations)
            return self._gaussian(mean, log_std.exp(), squashed=True), None
        if self.recurrent:
            lstm = self.network.lstm_actor
            rows = len(observations)
            if state is None:
                state = np.zeros((rows, 2, lstm.num_layers, lstm.hidden_size), dtype=np.float32)
            hidden, cell = (torch.as_tensor(state[:, each].transpose(1, 0, 2).copy()) for each in (0, 1))
            found, (hidden, cell) = self.network.get_distribution(observations, (hidden, cell), torch.zeros(rows))
            state = np.stack([hidden.numpy(), cell.numpy()]).transpose(2, 0, 1, 3).copy()
        else:
            found, state = self.network.get_distribution(observations), None
        inner = found.distribution
        if hasattr(inner, "logits"):
            return Categorical(_array(inner.logits)), state
        return self._gaussian(inner.mean, inner.stddev), state

    def _gaussian(self, mean: Any, deviation: Any, *, squashed: bool = False) -> Gaussian:
        space: Any = self.action_space
        return Gaussian(_array(mean), _array(deviation), space.low, space.high, squashed)


def _array(values: Any) -> NDArray[np.float64]:
    return np.asarray(values.numpy(), dtype=np.float64)
