"""Result of a grid: mean validation reward of every point over its seeds, with intervals, and the best point.

Only validation episodes decide. The test episodes are played once, by the policies of the best point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.rl.training.validation import SPLIT
from mayavi.statistics.bootstrap import Bootstrap
from mayavi.statistics.estimate import Estimate

SCHEMA, VERSION = "mayavi-grid", 1


@dataclass(frozen=True, slots=True, eq=False)
class TrainedRun:
    """A finished training of a grid with its evaluation on the validation split."""

    seed: int
    run_id: str
    rewards: NDArray[np.float64]
    """Reward of each validation episode."""
    seconds: float
    cost_usd: float

    @property
    def mean_reward(self) -> float:
        """Mean over the validation episodes."""
        return float(self.rewards.mean())


@dataclass(frozen=True, slots=True, eq=False)
class PointResult:
    """Trainings of one point of the grid, by seed, and their mean over seeds and episodes."""

    settings: tuple[str, ...]
    trainings: tuple[TrainedRun, ...]
    failed: Mapping[int, str]
    """Error of each failed training, by seed."""
    mean: Estimate | None
    """None if no training is finished."""
    difference: Estimate | None = None
    """Mean minus that of the best point, paired by seed and episode; None for the best point itself."""

    @property
    def complete(self) -> bool:
        """Whether every seed is trained: only such points can be the best."""
        return not self.failed

    @property
    def rewards(self) -> NDArray[np.float64]:
        """Rewards of shape (trainings, episodes)."""
        return np.stack([each.rewards for each in self.trainings])

    def to_json(self) -> dict[str, Any]:
        """JSON data."""
        return {
            "settings": dict(each.split("=", 1) for each in self.settings),
            "trainings": [
                {
                    "seed": each.seed,
                    "run_id": each.run_id,
                    "mean_reward": each.mean_reward,
                    "seconds": each.seconds,
                    "cost_usd": each.cost_usd,
                }
                for each in self.trainings
            ],
            "failed": [{"seed": seed, "error": why} for seed, why in self.failed.items()],
            "mean": None if self.mean is None else self.mean.to_json(),
            "difference_to_best": None if self.difference is None else self.difference.to_json(),
        }


def summarise_point(
    settings: tuple[str, ...], trainings: Sequence[TrainedRun], failed: Mapping[int, str]
) -> PointResult:
    """Estimate the mean validation reward of a point; its interval covers seeds and episodes."""
    mean = None
    if trainings:
        mean = Bootstrap().estimate_pooled(np.stack([each.rewards for each in trainings]))
    return PointResult(settings, tuple(trainings), dict(failed), mean)


def best_point(points: Sequence[PointResult]) -> int | None:
    """Index of the complete point with the highest mean validation reward, the first among equals; None without any."""
    complete = [at for at, each in enumerate(points) if each.complete and each.mean is not None]
    return max(complete, key=lambda at: _value(points[at]), default=None)


def with_differences(points: Sequence[PointResult], best: int | None) -> list[PointResult]:
    """Points with their paired differences to the best one; incomplete points have none."""
    found = []
    for at, each in enumerate(points):
        difference = None
        if best is not None and at != best and each.complete:
            difference = Bootstrap().estimate_pooled(each.rewards - points[best].rewards)
        found.append(PointResult(each.settings, each.trainings, each.failed, each.mean, difference))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class GridResult:
    """All points of a grid, and the best of them."""

    grid_id: str
    env: str
    seeds: tuple[int, ...]
    episodes: int
    points: tuple[PointResult, ...]
    best: int | None
    cost_usd: float
    most_usd: float | None
    """Maximum cost of the trainings of this grid on Modal; None elsewhere."""

    @property
    def failed(self) -> int:
        """Number of failed trainings."""
        return sum(len(each.failed) for each in self.points)

    def to_json(self) -> dict[str, Any]:
        """JSON data, without the evaluation on the test split."""
        best = None if self.best is None else self.points[self.best].to_json()
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "grid_id": self.grid_id,
            "env": self.env,
            "split": SPLIT,
            "episodes": self.episodes,
            "seeds": list(self.seeds),
            "points": [each.to_json() for each in self.points],
            "best": None if best is None else best["settings"],
            "best_runs": [] if best is None else [each["run_id"] for each in best["trainings"]],
            "cost": {"usd": self.cost_usd, "most_usd": self.most_usd},
        }


def _value(point: PointResult) -> float:
    assert point.mean is not None
    return point.mean.value
