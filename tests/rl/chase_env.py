"""Cheap environment for tests of trainers: a number drifts, and the agent steers it towards zero.

A training takes seconds. The environment has the spaces, splits and episodes of a real one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pydantic import Field

from mayavi.evm.fork import Fork
from mayavi.gym_env.chain_rows import ChainRowsEnv
from mayavi.gym_env.configuration import ChainConfig
from mayavi.gym_env.registry import ENVS, Entry
from mayavi.gym_env.rows import Floats, Observations, Rows


class ChaseConfig(ChainConfig):
    horizon: int = Field(8, ge=1)
    watches: Literal[2, 3] = Field(2, description="how many numbers are observed")


class ChaseEnv(ChainRowsEnv[ChaseConfig]):
    name = "chase"
    config_type = ChaseConfig
    strategies: ClassVar[dict[str, Any]] = {
        "steer": lambda env: np.where(env.columns["x"] > 0, 0, 2),
        "noop": lambda env: np.ones(env.rows, dtype=np.int64),
    }

    def __init__(self, config: ChaseConfig, rows: int = 1, **more: Any) -> None:
        super().__init__(config, rows, **more)
        self.observation_space = spaces.Box(-1, 1, (config.watches,), np.float32)
        if config.actions == "discrete":
            self.action_space: spaces.Space[Any] = spaces.Discrete(3)
        else:
            self.action_space = spaces.Box(-1, 1, (1,), np.float32)
        self.columns["x"] = np.zeros(rows)
        self.columns["wind"] = np.zeros(rows)

    def prepare(self, fork: Fork) -> None:
        pass

    def start(self, rows: Rows, rngs: Sequence[np.random.Generator]) -> None:
        if self.config.start == "drawn":
            self.columns["x"][rows] = [rng.uniform(-1, 1) for rng in rngs]
            self.columns["wind"][rows] = [rng.uniform(-0.1, 0.1) for rng in rngs]
        else:
            self.columns["x"][rows] = 0.5

    def apply(self, actions: NDArray[Any], live: NDArray[np.bool_]) -> None:
        pull = actions - 1.0 if self.config.actions == "discrete" else actions[:, 0]
        moved = np.clip(self.columns["x"] + 0.25 * pull + self.columns["wind"], -1, 1)
        self.columns["x"] = np.where(live, moved, self.columns["x"])

    def observe(self) -> Observations:
        left = 1 - self.steps / self.config.horizon
        seen = np.stack([self.columns["x"], left, self.columns["wind"]], axis=1)[:, : self.config.watches]
        return np.clip(seen, -1, 1).astype(np.float32)

    def rewards(self) -> tuple[Floats, NDArray[np.bool_]]:
        lost = np.abs(self.columns["x"]) >= 1
        return np.where(lost, -1.0, 0.1 * (0.5 - np.abs(self.columns["x"]))), lost

    def exact(self) -> dict[str, list[Any]]:
        return {"x": self.columns["x"].tolist()}


ENVS.setdefault("chase", Entry("chase", "mayavi/Chase-v0", f"{__name__}:ChaseEnv", "a number that is steered"))
