"""Normalise observations and rewards by running means and standard deviations.

Statistics are constant during a rollout and updated between two, so that a whole batch is normalised alike, and runners
in several processes share the merged statistics of all of them. They start with one episode of random play in each row.
Every checkpoint holds them, and its policy uses them in evaluations, bundles and backtests.
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
from mayavi.numerics.streams import stream
from mayavi.rl.environments import make_training_rows
from mayavi.rl.training.global_rng import spread_seed

if TYPE_CHECKING:
    from gymnasium import spaces

    from mayavi.gym_env.rows import Floats, Observations
    from mayavi.rl.config import TrainConfig

FILE = "normaliser.json"
LIMIT = 10.0
"""Normalised values are clipped to this many standard deviations."""
_TINY = 1e-8
MOST_ROWS = 64
"""Rows of random play for the initial statistics."""


@dataclass(slots=True)
class RunningStats:
    """Running count, mean and variance; samples are not stored."""

    count: float
    mean: Floats
    variance: Floats

    @classmethod
    def empty(cls, *shape: int) -> RunningStats:
        """Statistics without samples."""
        return cls(0.0, np.zeros(shape), np.zeros(shape))

    def add(self, values: Floats) -> None:
        """Add samples along the first axis."""
        if len(values):
            self.merge(RunningStats(float(len(values)), values.mean(axis=0), values.var(axis=0)))

    def merge(self, other: RunningStats) -> None:
        """Add the samples of `other`."""
        merge_stats(self, other)

    @property
    def deviation(self) -> Floats:
        """Standard deviation; one where the samples never varied."""
        return np.asarray(np.where(self.variance > _TINY**2, np.sqrt(self.variance), 1.0))

    def to_json(self) -> dict[str, Any]:
        """JSON data, exact to the last bit."""
        return {"count": self.count, "mean": self.mean.tolist(), "variance": self.variance.tolist()}

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> RunningStats:
        """Parse what `to_json` wrote."""
        return cls(float(written["count"]), np.array(written["mean"]), np.array(written["variance"]))


def merge_stats(stats: Any, other: Any) -> None:
    """Add the samples of `other` to `stats`: both have a count, a mean and a variance, as arrays or as tensors."""
    if not other.count:
        return
    total = stats.count + other.count
    difference = other.mean - stats.mean
    spread = stats.variance * stats.count + other.variance * other.count
    spread = spread + difference * difference * (stats.count * other.count / total)
    stats.mean = stats.mean + difference * (other.count / total)
    stats.variance, stats.count = spread / total, total


@dataclass(slots=True)
class Normaliser:
    """Statistics that a training or a policy normalises with; None leaves values unchanged."""

    observation_stats: RunningStats | None = None
    return_stats: RunningStats | None = None
    """Statistics of discounted returns. Rewards are divided by the deviation and keep their sign."""

    def observations(self, raw: Observations) -> Observations:
        """Normalise observations."""
        if self.observation_stats is None:
            return raw
        scaled = (raw.astype(np.float64) - self.observation_stats.mean) / self.observation_stats.deviation
        return np.clip(scaled, -LIMIT, LIMIT).astype(np.float32)

    def rewards(self, raw: NDArray[Any]) -> NDArray[Any]:
        """Normalise rewards."""
        if self.return_stats is None:
            return raw
        return np.clip(raw / self.return_stats.deviation, -LIMIT, LIMIT).astype(raw.dtype)

    def merge(self, other: Normaliser) -> None:
        """Add the samples of `other` to the statistics that both have."""
        for own, theirs in (
            (self.observation_stats, other.observation_stats),
            (self.return_stats, other.return_stats),
        ):
            if own is not None and theirs is not None:
                own.merge(theirs)

    def to_json(self) -> dict[str, Any]:
        """JSON data, exact to the last bit."""
        stats = (("seen", self.observation_stats), ("returned", self.return_stats))
        return {name: each and each.to_json() for name, each in stats}

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> Normaliser:
        """Parse what `to_json` wrote."""
        return cls(*(RunningStats.of(written[name]) if written[name] else None for name in ("seen", "returned")))

    def write(self, folder: Path) -> None:
        """Write the statistics into a checkpoint folder."""
        (folder / FILE).write_text(json.dumps(self.to_json()), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Normaliser:
        """Read the statistics of a checkpoint; `CheckpointError` if they are missing or damaged."""
        try:
            return cls.of(json.loads((folder / FILE).read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise CheckpointError(
                f"'{folder}' lacks {FILE}, which its policy needs", "the copy is incomplete; copy it again"
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"{FILE} of '{folder}' cannot be read: {error}", "copy it again") from None


@dataclass(slots=True)
class Lens:
    """Normalises the values of a rollout with fixed statistics, and records them for the next update."""

    gamma: float
    rows: int
    shape: tuple[int, ...]
    now: Normaliser
    """Statistics in use."""
    recorded: Normaliser = field(init=False)
    """Statistics of the values since the last `take`."""
    sums: Floats = field(init=False)
    """Discounted return of each row's episode so far."""

    def __post_init__(self) -> None:
        self.sums = np.zeros(self.rows)
        self._clear()

    def observe(self, raw: Observations) -> Observations:
        """Record and normalise the observations of all rows."""
        if self.recorded.observation_stats is not None:
            self.recorded.observation_stats.add(raw.astype(np.float64))
        return self.now.observations(raw)

    def reward(self, raw: NDArray[Any], done: NDArray[np.bool_], idle: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """Record and normalise the rewards of all rows, except for recording those of `idle` rows."""
        if self.recorded.return_stats is not None:
            self.sums = self.sums * self.gamma + raw
            self.recorded.return_stats.add(self.sums if idle is None else self.sums[~idle])
            self.sums[done] = 0.0
        return self.now.rewards(raw)

    def take(self) -> Normaliser:
        """Return the recorded statistics and start recording anew."""
        recorded = self.recorded
        self._clear()
        return recorded

    def _clear(self) -> None:
        self.recorded = Normaliser(
            self.now.observation_stats and RunningStats.empty(*self.shape),
            self.now.return_stats and RunningStats.empty(),
        )


def seen_space(config: TrainConfig, raw: spaces.Box) -> spaces.Box:
    """Observation space of the network, given the environment's own."""
    from gymnasium import spaces

    return spaces.Box(-LIMIT, LIMIT, raw.shape, np.float32) if config.normalize_observations else raw


def first_normaliser(config: TrainConfig) -> Normaliser | None:
    """Initial statistics from one episode of random play in each row; None if nothing is normalised."""
    if not config.normalises:
        return None
    from mayavi.gym_env.adapters.autoreset import AutoresetRows

    env = make_training_rows(config, min(config.num_envs, MOST_ROWS))
    rows = AutoresetRows(env)
    rows.seed(spread_seed(config.seed, "rows of the first statistics"))
    rows.begin(np.ones(env.rows, dtype=np.bool_))
    shape = env.observation_space.shape
    begun = Normaliser(
        RunningStats.empty(*shape) if config.normalize_observations else None,
        RunningStats.empty() if config.normalize_rewards else None,
    )
    lens = Lens(config.gamma, env.rows, shape, begun)
    rng = stream(config.seed, "training", "actions of the first statistics")
    lens.observe(env.observe())
    for _ in range(env.config.horizon):
        live = ~rows.over
        if not live.any():
            break
        stepped = rows.step(_random_actions(env.action_space, env.rows, rng), live)
        if lens.recorded.observation_stats is not None:
            lens.recorded.observation_stats.add(stepped.observations[live].astype(np.float64))
        lens.reward(stepped.rewards, stepped.done, ~live)
    begun.merge(lens.take())
    return begun


def _random_actions(space: Any, rows: int, rng: np.random.Generator) -> NDArray[Any]:
    if hasattr(space, "n"):
        return rng.integers(int(space.n), size=rows) + int(space.start)
    return rng.uniform(space.low, space.high, (rows, *space.shape)).astype(np.float32)
