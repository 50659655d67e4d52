"""Policies that stable-baselines3 trained, over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mayavi.errors import CheckpointError
from mayavi.rl.config import TrainConfig
from mayavi.rl.policy import Choice, Gaussian, Policy, State
from mayavi.rl.sb3.trainer import MODEL, algorithm_class
from mayavi.rl.training.checkpoints import Checkpoint


def load_sb3_policy(config: TrainConfig, checkpoint: Checkpoint) -> Policy:
    """The policy of a checkpoint, on the CPU."""
    try:
        model = algorithm_class(config).load(checkpoint.path / MODEL, device="cpu")
    except Exception as error:
        trained = checkpoint.facts["versions"].get("stable_baselines3")
        raise CheckpointError(
            f"'{checkpoint.path}' cannot be loaded: {error}", f"it was saved by stable-baselines3 {trained}"
        ) from error
    return Sb3Policy(model, config)


class Sb3Policy(Policy):
    """A policy of PPO, recurrent PPO, SAC or DQN."""

    def __init__(self, model: Any, config: TrainConfig) -> None:
        super().__init__(model.observation_space, model.action_space)
        self.algorithm, self.recurrent = config.algorithm, config.recurrent
        self.network = model.policy
        self.network.set_training_mode(False)

    def of_seen(self, observations: NDArray[np.float32], state: State | None) -> tuple[Choice | Gaussian, State | None]:
        """What the network says, and what it remembers then."""
        with torch.no_grad():
            return self._seeing(observations, state)

    def _seeing(self, observations: NDArray[np.float32], state: State | None) -> tuple[Choice | Gaussian, State | None]:
        seen = torch.as_tensor(observations)
        if self.algorithm == "dqn":
            return Choice(_array(self.network.q_net(seen)), greedy=True), None
        if self.algorithm == "sac":
            mean, log_std, _ = self.network.actor.get_action_dist_params(seen)
            return self._gaussian(mean, log_std.exp(), squashed=True), None
        if self.recurrent:
            lstm = self.network.lstm_actor
            rows = len(observations)
            if state is None:
                state = np.zeros((rows, 2, lstm.num_layers, lstm.hidden_size), dtype=np.float32)
            hidden, cell = (torch.as_tensor(state[:, each].transpose(1, 0, 2).copy()) for each in (0, 1))
            found, (hidden, cell) = self.network.get_distribution(seen, (hidden, cell), torch.zeros(rows))
            state = np.stack([hidden.numpy(), cell.numpy()]).transpose(2, 0, 1, 3).copy()
        else:
            found, state = self.network.get_distribution(seen), None
        inner = found.distribution
        if hasattr(inner, "logits"):
            return Choice(_array(inner.logits)), state
        return self._gaussian(inner.mean, inner.stddev), state

    def _gaussian(self, mean: Any, deviation: Any, *, squashed: bool = False) -> Gaussian:
        space: Any = self.action_space
        return Gaussian(_array(mean), _array(deviation), space.low, space.high, squashed)


def _array(values: Any) -> NDArray[np.float64]:
    return np.asarray(values.numpy(), dtype=np.float64)
