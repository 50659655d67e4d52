"""Environment without a chain: spaces and length of a real one at no cost.

The training time with it is the trainer's own. It is still learnable: the observation reveals the right action, so a
working trainer improves on it.

    ENVS["free"] = FREE    # registers the name in this process, for `make_rows` and `mayavi.rl`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pydantic import Field

from mayavi.gym_env.configuration import EnvConfig
from mayavi.gym_env.registry import Entry
from mayavi.gym_env.rows import Floats, Observations, Rows, RowsEnv

FREE = Entry("free", "mayavi/Free-v0", "benchmarks.subjects.free_env:FreeEnv", "nothing happens, at once")


class FreeConfig(EnvConfig):
    """Sizes of observation and action."""

    observations: int = Field(15, ge=1, le=10_000, description="numbers in an observation")
    choices: int = Field(3, ge=2, le=1_000, description="how many actions there are, where they are discrete")


class FreeEnv(RowsEnv[FreeConfig]):
    """Environment whose rows observe numbers that shift by one place per step; the first is the right action."""

    name = "free"
    config_type = FreeConfig

    world_digest = "none"

    def __init__(self, config: FreeConfig, rows: int = 1, *, threads: int | None = None) -> None:
        super().__init__(config, rows, threads=threads)
        self.observation_space = spaces.Box(-1.0, 1.0, (config.observations,), np.float32)
        if config.actions == "discrete":
            self.action_space = spaces.Discrete(config.choices)
        else:
            self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.columns |= {
            "seen": np.zeros((rows, config.observations), dtype=np.float32),
            "earned": np.zeros(rows),
        }

    def start(self, rows: Rows, rngs: Sequence[np.random.Generator]) -> None:
        """Draw the numbers of the episodes."""
        for row, rng in zip(rows, rngs, strict=True):
            self.columns["seen"][row] = rng.uniform(-1, 1, self.config.observations)
        if self.config.start == "fixed":
            self.columns["seen"][rows] = np.linspace(-1, 1, self.config.observations)

    def apply(self, actions: NDArray[Any], live: NDArray[np.bool_]) -> None:
        """Reward by the first number, then shift."""
        seen = self.columns["seen"]
        if self.config.actions == "discrete":
            right = np.minimum((seen[:, 0] + 1) / 2 * self.config.choices, self.config.choices - 1).astype(np.int64)
            earned = (actions == right).astype(np.float64)
        else:
            earned = 1 - np.abs(actions[:, 0] - seen[:, 0]) / 2
        self.columns["earned"] = np.where(live, earned, self.columns["earned"])
        self.columns["seen"] = np.where(live[:, None], np.roll(seen, -1, axis=1), seen)

    def observe(self) -> Observations:
        """Return the numbers."""
        seen: Observations = self.columns["seen"].copy()
        return seen

    def rewards(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Return one over the horizon for a right action; only the horizon ends an episode."""
        return self.columns["earned"] / self.config.horizon, np.zeros(self.rows, dtype=np.bool_)

    def exact(self) -> dict[str, list[Any]]:
        """Return how far the numbers have shifted."""
        return {"seen": self.steps.tolist()}
