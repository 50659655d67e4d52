"""Policies trained with RLlib."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mayavi.errors import CheckpointError
from mayavi.rl.config import TrainConfig
from mayavi.rl.policy import ActionDistribution, Categorical, Gaussian, Policy, State
from mayavi.rl.rllib.files import ALGORITHM
from mayavi.rl.rllib.ray_connection import silence_ray
from mayavi.rl.training_runs.checkpoints import Checkpoint

ONLY_POLICY = "default_policy"
SQUASHED = {"sac", "cql"}
"""Algorithms whose actions pass through tanh."""

StateShapes = dict[tuple[str, ...], tuple[tuple[int, ...], int]]
"""Shape and size of each part of a recurrent state, by its path in RLlib's nested dictionary."""


def load_rllib_policy(config: TrainConfig, checkpoint: Checkpoint, role: str | None = None) -> Policy:
    """Load the policy of a checkpoint on the CPU. `role` names one of several policies."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # RLlib's own
        from ray.rllib.core.rl_module.rl_module import RLModule

        silence_ray()
        folder = checkpoint.path / ALGORITHM / "learner_group" / "learner" / "rl_module" / (role or ONLY_POLICY)
        try:
            module = RLModule.from_checkpoint(str(folder.absolute()))
        except Exception as error:
            trained = checkpoint.facts["versions"].get("ray")
            raise CheckpointError(f"'{folder}' cannot be loaded: {error}", f"it was saved by ray {trained}") from error
    return RllibPolicy(module.to("cpu"), config)


class RllibPolicy(Policy):
    """PPO, recurrent PPO, SAC, DQN or CQL policy."""

    def __init__(self, module: Any, config: TrainConfig) -> None:
        super().__init__(module.observation_space, module.action_space)
        self.algorithm, self.recurrent, self.module = config.algorithm, config.recurrent, module
        self.module.eval()

    def distribution_of_normalised(
        self, observations: NDArray[np.float32], state: State | None
    ) -> tuple[ActionDistribution, State | None]:
        """Action distribution for normalised observations, and the next recurrent state."""
        with torch.no_grad():
            return self._forward(observations, state)

    def _forward(
        self, observations: NDArray[np.float32], state: State | None
    ) -> tuple[ActionDistribution, State | None]:
        batch: dict[str, Any] = {"obs": torch.as_tensor(observations)}
        if self.algorithm == "dqn":
            return Categorical(_array(self.module.compute_q_values(batch)["qf_preds"]), greedy=True), None
        shapes = self._state_shapes() if self.recurrent else {}
        if self.recurrent:
            if state is None:
                state = np.zeros((len(observations), sum(size for _, size in shapes.values())), dtype=np.float32)
            batch = {"obs": batch["obs"][:, None], "state_in": _unpack_state(state, shapes)}
        found = self.module.forward_inference(batch)
        inputs = _array(found["action_dist_inputs"])
        if self.recurrent:
            inputs = inputs[:, 0]
            state = _pack_state(found["state_out"], shapes)
        if hasattr(self.action_space, "n"):
            return Categorical(inputs), state
        space: Any = self.action_space
        mean, log_std = np.split(inputs, 2, axis=1)
        return Gaussian(mean, np.exp(log_std), space.low, space.high, squashed=self.algorithm in SQUASHED), state

    def _state_shapes(self) -> StateShapes:
        found: StateShapes = {}

        def walk(part: Any, path: tuple[str, ...]) -> None:
            if isinstance(part, dict):
                for name, inner in part.items():
                    walk(inner, (*path, name))
            else:
                found[path] = tuple(part.shape), int(part.numel())

        walk(self.module.get_initial_state(), ())
        return found


def _unpack_state(state: State, shapes: StateShapes) -> dict[str, Any]:
    """Recurrent state as the nested dictionary of tensors that RLlib takes."""
    nested: dict[str, Any] = {}
    at = 0
    for path, (shape, size) in shapes.items():
        inner = nested
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = torch.as_tensor(state[:, at : at + size].reshape(len(state), *shape).copy())
        at += size
    return nested


def _pack_state(nested: Any, shapes: StateShapes) -> State:
    """Recurrent state as one array of shape (rows, size)."""
    columns = []
    for path in shapes:
        part = nested
        for name in path:
            part = part[name]
        columns.append(part.numpy().reshape(len(part), -1))
    return np.concatenate(columns, axis=1).astype(np.float32)


def _array(values: Any) -> NDArray[np.float64]:
    return np.asarray(values.numpy(), dtype=np.float64)
