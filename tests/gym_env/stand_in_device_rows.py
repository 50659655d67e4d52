"""`DeviceRows` over any environment on the processor, with torch tensors in host memory.

It has the interface and the rules of rows on a device, so that trainers and adapters are tested with environments that
cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mayavi.gym_env.rows import RowsEnv


class StandInDeviceRows:
    def __init__(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        self.env, self.table, self.rows, self.config = env, np.array(episodes), env.rows, env.config
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.torch_device, self.left, self.closed = torch.device("cpu"), 0, False
        seen = (self.rows, *env.observation_space.shape)
        self.observations, self.final_observations = torch.zeros(seen), torch.zeros(seen)
        self.rewards = torch.zeros(self.rows, dtype=torch.float64)
        self.terminated, self.truncated = (torch.zeros(self.rows, dtype=torch.bool) for _ in range(2))
        self.episodes, self.steps = (torch.zeros(self.rows, dtype=torch.int64) for _ in range(2))
        self._played: list[list[Any]] = [[] for _ in range(self.rows)]
        self._turns = np.zeros(self.rows, dtype=np.int64)

    def begin(self) -> None:
        self._turns[:] = 0
        self._start(np.arange(self.rows))

    def step(self, actions: torch.Tensor) -> None:
        assert actions.device.type == "cpu"
        assert actions.dtype in (torch.int64, torch.float32)
        stepped = self.env.step(actions.numpy())
        for row, action in enumerate(actions.tolist()):
            self._played[row].append(action)
        self.final_observations.copy_(torch.as_tensor(stepped.observations))
        self.rewards.copy_(torch.as_tensor(stepped.rewards))
        self.terminated.copy_(torch.as_tensor(stepped.terminated))
        self.truncated.copy_(torch.as_tensor(stepped.truncated))
        over = np.flatnonzero(stepped.done)
        self._turns[over] += 1
        self._start(over)

    def _start(self, rows: NDArray[np.intp]) -> None:
        if len(rows):
            self.env.begin(rows, self.table[(rows + self._turns[rows] * self.rows) % len(self.table)].tolist())
        for row in rows:
            self._played[row] = []
        self.observations.copy_(torch.as_tensor(self.env.observe()))
        self.episodes.copy_(torch.as_tensor(self.env.episodes))
        self.steps.copy_(torch.as_tensor(self.env.steps))

    def state(self) -> dict[str, NDArray[Any]]:
        most = max(len(each) for each in self._played)
        shape = (self.rows, most, *(self.action_space.shape or ()))
        actions = np.zeros(shape, dtype=np.float64)
        for row, played in enumerate(self._played):
            if played:
                actions[row, : len(played)] = played
        return {"turns": self._turns.copy(), "actions": actions, "lengths": np.array([len(e) for e in self._played])}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._turns = np.array(state["turns"])
        self._start(np.arange(self.rows))
        discrete = hasattr(self.action_space, "n")
        for at in range(state["actions"].shape[1]):
            actions, live = state["actions"][:, at], state["lengths"] > at
            self.env.step(actions.astype(np.int64) if discrete else actions.astype(np.float32), live)
        for row, length in enumerate(state["lengths"].tolist()):
            self._played[row] = state["actions"][row, :length].tolist()
        self.observations.copy_(torch.as_tensor(self.env.observe()))
        self.steps.copy_(torch.as_tensor(self.env.steps))

    def close(self) -> None:
        self.closed = True
