"""An environment that costs nothing: the spaces and the length of a real one, and no chain underneath.

What a trainer takes with it is what the trainer itself takes. There is something to learn all the same: what is seen
tells the right action of a step, so a training that works gets better at it.

    ENVS["free"] = FREE    # from here on the name is known in this process, to `make_rows` and to `mayavi.rl`
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

FREE = Entry("free", "mayavi/Free-v0", "benchmarks.free_env:FreeEnv", "nothing happens, at once")


class FreeConfig(EnvConfig):
    """How large what is seen and done is."""

    observations: int = Field(12, ge=1, le=10_000, description="numbers in an observation")
    choices: int = Field(3, ge=2, le=1_000, description="how many actions there are, where they are discrete")


class FreeEnv(RowsEnv[FreeConfig]):
    """Every row sees numbers of its episode, which move on by a place a step; the first one tells the right action."""

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

    def start(self, rows: Rows, chances: Sequence[np.random.Generator]) -> None:
        """Draw the numbers of the episodes."""
        for row, chance in zip(rows, chances, strict=True):
            self.columns["seen"][row] = chance.uniform(-1, 1, self.config.observations)
        if self.config.start == "fixed":
            self.columns["seen"][rows] = np.linspace(-1, 1, self.config.observations)

    def apply(self, actions: NDArray[Any], live: NDArray[np.bool_]) -> None:
        """Earn by the first number, and let the next one be the first."""
        seen = self.columns["seen"]
        if self.config.actions == "discrete":
            right = np.minimum((seen[:, 0] + 1) / 2 * self.config.choices, self.config.choices - 1).astype(np.int64)
            earned = (actions == right).astype(np.float64)
        else:
            earned = 1 - np.abs(actions[:, 0] - seen[:, 0]) / 2
        self.columns["earned"] = np.where(live, earned, self.columns["earned"])
        self.columns["seen"] = np.where(live[:, None], np.roll(seen, -1, axis=1), seen)

    def observe(self) -> Observations:
        """The numbers."""
        seen: Observations = self.columns["seen"].copy()
        return seen

    def rewards(self) -> tuple[Floats, NDArray[np.bool_]]:
        """One over the horizon for a right action; nothing but the horizon ends an episode."""
        return self.columns["earned"] / self.config.horizon, np.zeros(self.rows, dtype=np.bool_)

    def exact(self) -> dict[str, list[Any]]:
        """How many numbers have gone by."""
        return {"seen": self.steps.tolist()}
