"""Policies that RLlib trained, over rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mayavi.errors import CheckpointError
from mayavi.rl.config import TrainConfig
from mayavi.rl.policy import Choice, Gaussian, Policy, State
from mayavi.rl.rllib.ray_connection import hush
from mayavi.rl.rllib.trainer import ALGORITHM
from mayavi.rl.training.checkpoints import Checkpoint

ONLY_POLICY = "default_policy"


def load_rllib_policy(config: TrainConfig, checkpoint: Checkpoint, role: str | None = None) -> Policy:
    """The policy of a checkpoint, on the CPU."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # RLlib's own
        from ray.rllib.core.rl_module.rl_module import RLModule

        hush()
        folder = checkpoint.path / ALGORITHM / "learner_group" / "learner" / "rl_module" / (role or ONLY_POLICY)
        try:
            module = RLModule.from_checkpoint(str(folder.absolute()))
        except Exception as error:
            trained = checkpoint.facts["versions"].get("ray")
            raise CheckpointError(f"'{folder}' cannot be loaded: {error}", f"it was saved by ray {trained}") from error
    return RllibPolicy(module.to("cpu"), config)


class RllibPolicy(Policy):
    """A policy of PPO, with or without memory, SAC or DQN."""

    def __init__(self, module: Any, config: TrainConfig) -> None:
        super().__init__(module.observation_space, module.action_space)
        self.algorithm, self.recurrent, self.module = config.algorithm, config.recurrent, module
        self.module.eval()

    def of_seen(self, observations: NDArray[np.float32], state: State | None) -> tuple[Choice | Gaussian, State | None]:
        """What the network says, and what it remembers then."""
        with torch.no_grad():
            return self._seeing(observations, state)

    def _seeing(self, observations: NDArray[np.float32], state: State | None) -> tuple[Choice | Gaussian, State | None]:
        batch: dict[str, Any] = {"obs": torch.as_tensor(observations)}
        if self.algorithm == "dqn":
            return Choice(_array(self.module.compute_q_values(batch)["qf_preds"]), greedy=True), None
        shapes = self._memory() if self.recurrent else {}
        if self.recurrent:
            if state is None:
                state = np.zeros((len(observations), sum(size for _, size in shapes.values())), dtype=np.float32)
            batch = {"obs": batch["obs"][:, None], "state_in": self._unpacked(state, shapes)}
        found = self.module.forward_inference(batch)
        inputs = _array(found["action_dist_inputs"])
        if self.recurrent:
            inputs = inputs[:, 0]
            state = self._packed(found["state_out"], shapes)
        if hasattr(self.action_space, "n"):
            return Choice(inputs), state
        space: Any = self.action_space
        mean, log_std = np.split(inputs, 2, axis=1)
        return Gaussian(mean, np.exp(log_std), space.low, space.high, squashed=self.algorithm == "sac"), state

    def _memory(self) -> dict[tuple[str, ...], tuple[tuple[int, ...], int]]:
        """The parts of the module's memory by their way in it: shape and size."""
        found: dict[tuple[str, ...], tuple[tuple[int, ...], int]] = {}

        def walk(part: Any, way: tuple[str, ...]) -> None:
            if isinstance(part, dict):
                for name, inner in part.items():
                    walk(inner, (*way, name))
            else:
                found[way] = tuple(part.shape), int(part.numel())

        walk(self.module.get_initial_state(), ())
        return found

    @staticmethod
    def _unpacked(state: State, shapes: dict[tuple[str, ...], tuple[tuple[int, ...], int]]) -> dict[str, Any]:
        nested: dict[str, Any] = {}
        at = 0
        for way, (shape, size) in shapes.items():
            inner = nested
            for name in way[:-1]:
                inner = inner.setdefault(name, {})
            inner[way[-1]] = torch.as_tensor(state[:, at : at + size].reshape(len(state), *shape).copy())
            at += size
        return nested

    @staticmethod
    def _packed(nested: Any, shapes: dict[tuple[str, ...], tuple[tuple[int, ...], int]]) -> State:
        columns = []
        for way in shapes:
            part = nested
            for name in way:
                part = part[name]
            columns.append(part.numpy().reshape(len(part), -1))
        return np.concatenate(columns, axis=1).astype(np.float32)


def _array(values: Any) -> NDArray[np.float64]:
    return np.asarray(values.numpy(), dtype=np.float64)
