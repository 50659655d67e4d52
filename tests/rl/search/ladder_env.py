"""Small environment with a known optimum: a climber on a ladder, whose height is in a slot of an empty chain."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pydantic import Field

from mayavi.evm.fleet import Program
from mayavi.evm.fork import Fork
from mayavi.gym_env.chain_rows import ChainRowsEnv
from mayavi.gym_env.configuration import ChainConfig, configured
from mayavi.gym_env.rows import Floats, Observations, Rows

LADDER = b"\x1a" * 20
TOP = 40


def empty_world() -> Fork:
    """Empty chain."""
    fork = Fork.empty()
    fork.set_block(number=1_000, timestamp=50_000)
    return fork


class LadderConfig(ChainConfig):
    horizon: int = Field(5, ge=1, le=100, description="steps")
    dense: bool = Field(False, description="whether every step pays")


class LadderEnv(ChainRowsEnv[LadderConfig]):
    """0 rests, 1 goes down one, 2 goes up two thirds of the way to 10 × the wind. Above the top is a fall: -1, over."""

    name = "ladder"
    config_type = LadderConfig
    strategies: ClassVar[dict[str, Any]] = {
        "noop": lambda env: env.as_actions(np.zeros(env.rows, dtype=np.int64)),
        "down": lambda env: env.as_actions(np.ones(env.rows, dtype=np.int64)),
        "climb": lambda env: env.as_actions(np.full(env.rows, 2, dtype=np.int64)),
    }

    def __init__(self, config: LadderConfig, rows: int = 1, **more: Any) -> None:
        super().__init__(config, rows, **{"world": empty_world(), **more})
        self.observation_space = spaces.Box(0.0, 1.0, (3,), np.float32)
        self.action_space = (
            spaces.Discrete(3) if config.actions == "discrete" else spaces.Box(-1.0, 1.0, (1,), np.float32)
        )
        self.columns |= {name: np.zeros(rows, dtype=np.int64) for name in ("height", "wind", "earned", "fallen")}
        self.program = Program()
        height, self_pause = self.program.input("height"), self.program.input("pause")
        self.program.store(LADDER, 1, height)
        self.program.advance(self_pause, self_pause)
        self.program.output("height", self.program.load(LADDER, 1))

    def prepare(self, fork: Fork) -> None:
        fork.set_balance(LADDER, 1)

    def as_actions(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        return numbers if self.config.actions == "discrete" else (numbers - 1.0)[:, None].astype(np.float32)

    def start(self, rows: Rows, rngs: Sequence[np.random.Generator]) -> None:
        fixed = self.config.start == "fixed"
        self.columns["height"][rows] = [12 if fixed else int(rng.integers(5, 30)) for rng in rngs]
        self.columns["wind"][rows] = [2 if fixed else int(rng.integers(1, 6)) for rng in rngs]

    def apply(self, actions: NDArray[Any], live: NDArray[np.bool_]) -> None:
        numbers = actions if self.config.actions == "discrete" else np.rint(actions[:, 0] + 1).astype(np.int64)
        before = self.columns["height"].copy()
        after = moved(before, self.columns["wind"], numbers)
        self.columns["height"] = np.where(live, after, before)
        self.columns["earned"] = np.where(live, self.columns["height"] - before, 0)
        self.columns["fallen"] |= live & (self.columns["height"] > TOP)
        out = self.fleet.run(self.program, height=self.columns["height"], pause=live.astype(np.uint64), threads=1)
        assert out["height"].uint64().tolist() == self.columns["height"].tolist()

    def observe(self) -> Observations:
        columns = (self.columns["height"] / 100, self.columns["wind"] / 10, self.steps / 100)
        return np.clip(np.column_stack(columns), 0, 1).astype(np.float32)

    def rewards(self) -> tuple[Floats, NDArray[np.bool_]]:
        fallen = self.columns["fallen"].astype(np.bool_)
        last = self.steps >= self.config.horizon
        earned = np.where(self.config.dense, self.columns["earned"], np.where(last, self.columns["height"], 0))
        return np.where(fallen, -1.0, earned / 100), fallen

    def exact(self) -> dict[str, list[Any]]:
        return {"height": self.columns["height"].tolist(), "wind": self.columns["wind"].tolist()}


def moved(height: NDArray[np.int64], wind: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    up = np.maximum(0, 10 * wind - height) * 2 // 3 + 2
    return np.asarray(np.select([numbers == 1, numbers == 2], [np.maximum(0, height - 1), height + up], height))


def ladder(rows: int = 1, **settings: object) -> LadderEnv:
    return LadderEnv(configured(LadderConfig, settings), rows)


def best_by_hand(env: LadderEnv, episode: int) -> tuple[float, tuple[int, ...]]:
    """Optimum of an episode, by trying every action sequence in plain Python."""
    env.begin([0], [episode])
    height, wind = int(env.columns["height"][0]), int(env.columns["wind"][0])

    def worth(sequence: tuple[int, ...]) -> float:
        now, total = height, 0.0
        for step, action in enumerate(sequence):
            before = now
            now = int(moved(np.array([now]), np.array([wind]), np.array([action]))[0])
            if now > TOP:
                return total - 1.0
            last = step == env.config.horizon - 1
            total += (now - before) / 100 if env.config.dense else (now / 100 if last else 0.0)
        return total

    sequences = list(product(range(3), repeat=env.config.horizon))
    return max((worth(each), each) for each in sequences)
