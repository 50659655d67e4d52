"""Policies trained with our own PPO."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mayavi.errors import CheckpointError
from mayavi.rl.config import TrainConfig
from mayavi.rl.fast.files import WEIGHTS
from mayavi.rl.fast.network import LOG_DEVIATION, Network
from mayavi.rl.fast.ppo import make_network
from mayavi.rl.policy import ActionDistribution, Categorical, Gaussian, Policy, State
from mayavi.rl.spaces import space_from_json
from mayavi.rl.training_runs.checkpoints import Checkpoint


def load_fast_policy(config: TrainConfig, checkpoint: Checkpoint) -> Policy:
    """Load the policy of a checkpoint on the CPU."""
    seen, done = (space_from_json(checkpoint.facts[name]) for name in ("observation_space", "action_space"))
    network = make_network(config, seen, done)
    try:
        network.load(torch.load(checkpoint.path / WEIGHTS, weights_only=True))
    except Exception as error:
        trained = checkpoint.facts["versions"].get("torch")
        raise CheckpointError(
            f"'{checkpoint.path}' cannot be loaded: {error}", f"it was saved by torch {trained}"
        ) from error
    return FastPolicy(network, seen, done)


class FastPolicy(Policy):
    """Policy of our own PPO."""

    def __init__(self, network: Network, observation_space: Any, action_space: Any) -> None:
        super().__init__(observation_space, action_space)
        self.network = network

    def distribution_of_normalised(
        self, observations: NDArray[np.float32], state: State | None
    ) -> tuple[ActionDistribution, State | None]:
        """Action distribution for normalised observations; there is no recurrent state."""
        space: Any = self.action_space
        with torch.no_grad():
            flat = torch.as_tensor(observations).reshape(len(observations), -1)
            outputs = self.network.policy(flat)
            if hasattr(space, "n"):
                return Categorical(_array(outputs.log_softmax(1))), None
            deviation = self.network.weights[LOG_DEVIATION].exp().expand_as(outputs)
        shape = (-1, *space.shape)
        return Gaussian(_array(outputs).reshape(shape), _array(deviation).reshape(shape), space.low, space.high), None


def _array(values: torch.Tensor) -> NDArray[np.float64]:
    return np.asarray(values.numpy(), dtype=np.float64)
