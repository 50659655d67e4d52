"""Compare two trainings: settings, versions and results that differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mayavi.rl.training_runs.catalogue import Training

_FIGURES = ("status", "steps", "episodes", "mean_reward", "device")
_NOT_SET = "default"
"""Value of an environment setting that only the other training sets."""

Differences = dict[str, tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class TrainingDiff:
    """Differences of two trainings, by name: the value of each."""

    before: Training
    after: Training
    settings: Differences
    versions: Differences
    """Versions of the software, the world and the spaces."""
    results: Differences

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.settings or self.versions or self.results)

    def to_json(self) -> dict[str, Any]:
        """Differences as JSON data: pairs of values."""
        return {
            "before": self.before.run_id,
            "after": self.after.run_id,
            "equal": self.equal,
            "settings": {name: list(pair) for name, pair in self.settings.items()},
            "versions": {name: list(pair) for name, pair in self.versions.items()},
            "results": {name: list(pair) for name, pair in self.results.items()},
        }


def compare_trainings(before: Training, after: Training) -> TrainingDiff:
    """Compare two trainings. Ids, times and durations are left out: they always differ."""
    return TrainingDiff(
        before,
        after,
        _differences(_settings(before), _settings(after), _NOT_SET),
        _differences(_surroundings(before), _surroundings(after)),
        _differences(_results(before), _results(after)),
    )


def _differences(one: Mapping[str, Any], other: Mapping[str, Any], absent: Any = None) -> Differences:
    names = [*one, *(name for name in other if name not in one)]
    pairs = {name: (one.get(name, absent), other.get(name, absent)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _settings(training: Training) -> dict[str, Any]:
    """Settings of the training, those of the environment as `env.NAME`."""
    config = dict(training.config)
    inner = config.pop("env_config", None) or {}
    return config | {f"env.{name}": value for name, value in inner.items()}


def _surroundings(training: Training) -> dict[str, Any]:
    record = training.record
    names = ("world_digest", "observation_space", "action_space", "runners")
    return {**record.get("versions", {}), **{name: record.get(name) for name in names}}


def _results(training: Training) -> dict[str, Any]:
    found: dict[str, Any] = {name: training.record.get(name) for name in _FIGURES}
    found["status"] = training.status
    best = training.record.get("best") or {}
    found |= {f"best.{name}": best.get(name) for name in ("steps", "mean_reward")}
    for score in training.evaluations().values():
        if not score.how:
            found |= {f"{score.of}.{role or 'mean_reward'}": mean for role, mean in score.mean_reward.items()}
    return found
