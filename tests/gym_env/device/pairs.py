"""An environment's rows on a device beside the same rows on the processor."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mayavi.gym_env import make_rows
from mayavi.gym_env.device.rows import DeviceRows
from mayavi.worlds.source import WorldSource


class Pair:
    """Steps both, and compares everything after each step."""

    def __init__(self, rows: DeviceRows, name: str, *, seed: int = 3, world: WorldSource | None = None) -> None:
        self.rows, self.rng = rows, np.random.default_rng(seed)
        self.env = make_rows(name, rows.rows, config=rows.config, threads=1, specialise="off", world=world)
        self.ends = {"terminated": 0, "truncated": 0}

    def begin(self) -> None:
        """Start the first episodes."""
        self.rows.begin()
        self.env.begin(range(self.rows.rows), self.rows.episodes.tolist())
        self._compare_now()

    def actions(self) -> NDArray[Any]:
        """Draw actions, of a box also edges and some beyond."""
        count = self.rows.rows
        if self.rows.config.actions == "discrete":
            return self.rng.integers(self.env.action_space.n, size=count)  # type: ignore[attr-defined,no-any-return]
        drawn = self.rng.uniform(-1.5, 1.5, (count, *(self.env.action_space.shape or ())))
        drawn[self.rng.random(count) < 0.2] = 0.0
        return drawn.astype(np.float32)

    def step(self, actions: NDArray[Any] | None = None) -> None:
        """Play a step on both."""
        chosen = self.actions() if actions is None else actions
        rows, found = self.rows, self.env.step(chosen)
        rows.step(torch.from_numpy(chosen).to(rows.torch_device))
        assert np.array_equal(as_array(rows.final_observations), found.observations)
        assert np.array_equal(as_array(rows.rewards), found.rewards)
        for name in self.ends:
            assert np.array_equal(as_array(getattr(rows, name)), getattr(found, name))
            self.ends[name] += int(getattr(found, name).sum())
        over = np.flatnonzero(found.terminated | found.truncated)
        if len(over):
            self.env.begin(over, as_array(rows.episodes)[over].tolist())
        self._compare_now()

    def _compare_now(self) -> None:
        rows, env = self.rows, self.env
        assert np.array_equal(as_array(rows.observations), env.observe())
        assert np.array_equal(as_array(rows.steps), env.steps)
        assert np.array_equal(as_array(rows.episodes), env.episodes)
        every = np.arange(rows.rows)
        assert rows.identities(every.tolist()) == env.identities(every)


def as_array(tensor: torch.Tensor) -> NDArray[Any]:
    """A tensor of any device as an array."""
    found: NDArray[Any] = tensor.cpu().numpy()
    return found
