"""What a trainer sees of observations and rewards: each number over its running mean and deviation.

Statistics stand still during a rollout and move between two, so that all of a batch was seen through the same ones, and
runners in several processes go by the sum of what all of them saw. They begin with one episode of random play in each
row. A checkpoint holds them, and its policy sees through them ever after: evaluations, bundles and backtests too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import CheckpointError
from mayavi.rl.training.global_rng import spread_seed

if TYPE_CHECKING:
    from gymnasium import spaces

    from mayavi.gym_env.rows import Floats, Observations
    from mayavi.rl.config import TrainConfig

FILE = "normaliser.json"
LIMIT = 10.0
"""Beyond so many deviations a number is cut off."""
_TINY = 1e-8
MOST_ROWS = 64
"""Rows of random play that the statistics begin with."""


@dataclass(slots=True)
class Running:
    """Count, mean and variance of all numbers that were shown, without keeping them."""

    count: float
    mean: Floats
    variance: Floats

    @classmethod
    def empty(cls, *shape: int) -> Running:
        """Of nothing yet."""
        return cls(0.0, np.zeros(shape), np.zeros(shape))

    def add(self, values: Floats) -> None:
        """Show numbers, their first axis the samples."""
        if len(values):
            self.merge(Running(float(len(values)), values.mean(axis=0), values.var(axis=0)))

    def merge(self, other: Running) -> None:
        """Become that of both together."""
        if not other.count:
            return
        total = self.count + other.count
        apart = other.mean - self.mean
        spread = self.variance * self.count + other.variance * other.count
        spread = spread + apart * apart * (self.count * other.count / total)
        self.mean = self.mean + apart * (other.count / total)
        self.variance, self.count = spread / total, total

    @property
    def deviation(self) -> Floats:
        """The standard deviation; one where nothing ever varied."""
        return np.asarray(np.where(self.variance > _TINY**2, np.sqrt(self.variance), 1.0))

    def to_json(self) -> dict[str, Any]:
        """As plain data, to the last bit."""
        return {"count": self.count, "mean": self.mean.tolist(), "variance": self.variance.tolist()}

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> Running:
        """What `to_json` wrote."""
        return cls(float(written["count"]), np.array(written["mean"]), np.array(written["variance"]))


@dataclass(slots=True)
class Normaliser:
    """The statistics that a training or a policy sees through; None of what is left as it is."""

    seen: Running | None = None
    returned: Running | None = None
    """Of the discounted sums of rewards: rewards are divided by their deviation, and keep their sign."""

    def observations(self, raw: Observations) -> Observations:
        """What the network is shown."""
        if self.seen is None:
            return raw
        scaled = (raw.astype(np.float64) - self.seen.mean) / self.seen.deviation
        return np.clip(scaled, -LIMIT, LIMIT).astype(np.float32)

    def rewards(self, raw: NDArray[Any]) -> NDArray[Any]:
        """What the trainer is told was earned."""
        if self.returned is None:
            return raw
        return np.clip(raw / self.returned.deviation, -LIMIT, LIMIT).astype(raw.dtype)

    def merge(self, other: Normaliser) -> None:
        """Take in what another has seen."""
        for own, theirs in ((self.seen, other.seen), (self.returned, other.returned)):
            if own is not None and theirs is not None:
                own.merge(theirs)

    def to_json(self) -> dict[str, Any]:
        """As plain data, to the last bit."""
        return {name: each and each.to_json() for name, each in (("seen", self.seen), ("returned", self.returned))}

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> Normaliser:
        """What `to_json` wrote."""
        return cls(*(Running.of(written[name]) if written[name] else None for name in ("seen", "returned")))

    def write(self, folder: Path) -> None:
        """Put it into a checkpoint that is being written."""
        (folder / FILE).write_text(json.dumps(self.to_json()), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Normaliser:
        """That of a checkpoint; `CheckpointError` where it has none."""
        try:
            return cls.of(json.loads((folder / FILE).read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise CheckpointError(
                f"'{folder}' lacks {FILE}, and its policy sees through it", "it did not arrive whole; copy it again"
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"{FILE} of '{folder}' cannot be read: {error}", "copy it again") from None


@dataclass(slots=True)
class Lens:
    """What stands between rows and a trainer: normalises, and notes what it saw for the next move of the statistics."""

    gamma: float
    rows: int
    shape: tuple[int, ...]
    now: Normaliser
    noted: Normaliser = field(init=False)
    sums: Floats = field(init=False)
    """The discounted sum of rewards of each row's episode so far."""

    def __post_init__(self) -> None:
        self.sums = np.zeros(self.rows)
        self._clear()

    def observe(self, raw: Observations) -> Observations:
        """Note and normalise what all rows see."""
        if self.noted.seen is not None:
            self.noted.seen.add(raw.astype(np.float64))
        return self.now.observations(raw)

    def reward(self, raw: NDArray[Any], done: NDArray[np.bool_], idle: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """Note and normalise what was earned. `idle` rows did not play: nothing is noted of them."""
        if self.noted.returned is not None:
            self.sums = self.sums * self.gamma + raw
            self.noted.returned.add(self.sums if idle is None else self.sums[~idle])
            self.sums[done] = 0.0
        return self.now.rewards(raw)

    def take(self) -> Normaliser:
        """What was noted since it was last taken."""
        noted = self.noted
        self._clear()
        return noted

    def _clear(self) -> None:
        self.noted = Normaliser(self.now.seen and Running.empty(*self.shape), self.now.returned and Running.empty())


def seen_space(config: TrainConfig, raw: spaces.Box) -> spaces.Box:
    """The space of what the network is shown, where the environment's is `raw`."""
    from gymnasium import spaces

    return spaces.Box(-LIMIT, LIMIT, raw.shape, np.float32) if config.normalize_observations else raw


def first_normaliser(config: TrainConfig) -> Normaliser | None:
    """The statistics a training begins with: an episode of random play in each row. None where none are asked for."""
    if not config.normalises:
        return None
    from mayavi.gym_env.adapters.autoreset import AutoresetRows
    from mayavi.numerics.streams import stream
    from mayavi.rl.environments import make_training_rows

    env = make_training_rows(config, min(config.num_envs, MOST_ROWS))
    rows = AutoresetRows(env)
    rows.seed(spread_seed(config.seed, "rows of the first statistics"))
    rows.begin(np.ones(env.rows, dtype=np.bool_))
    shape = env.observation_space.shape
    begun = Normaliser(
        Running.empty(*shape) if config.normalize_observations else None,
        Running.empty() if config.normalize_rewards else None,
    )
    lens = Lens(config.gamma, env.rows, shape, begun)
    chance = stream(config.seed, "training", "actions of the first statistics")
    lens.observe(env.observe())
    for _ in range(env.config.horizon):
        live = ~rows.over
        if not live.any():
            break
        stepped = rows.step(_random_actions(env.action_space, env.rows, chance), live)
        if lens.noted.seen is not None:
            lens.noted.seen.add(stepped.observations[live].astype(np.float64))
        lens.reward(stepped.rewards, stepped.done, ~live)
    begun.merge(lens.take())
    return begun


def _random_actions(space: Any, rows: int, chance: np.random.Generator) -> NDArray[Any]:
    if hasattr(space, "n"):
        return chance.integers(int(space.n), size=rows) + int(space.start)
    return chance.uniform(space.low, space.high, (rows, *space.shape)).astype(np.float32)
