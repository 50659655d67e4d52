"""Read trainings: the seeds of one configuration, their learning curves, and their evaluations on the same episodes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mayavi.errors import EvaluationFileError, UsageError
from mayavi.rl.config import TrainConfig
from mayavi.rl.env_defaults import env_defaults
from mayavi.rl.evaluation.document import read_eval
from mayavi.rl.evaluation.verdict import Verdict, judged
from mayavi.rl.training_runs.catalogue import Training, evaluation_files, find_training, list_trainings
from mayavi.rl.training_runs.curves import read_curves
from mayavi.statistics.bootstrap import Bootstrap
from mayavi.statistics.estimate import Estimate

REWARD_CURVES = ("rollout/ep_rew_mean", "env_runners/episode_return_mean")
"""Curves of the mean reward of training episodes, by framework."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve over training steps of one seed."""

    seed: int
    run_id: str
    values: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class PooledComparison:
    """All seeds of an algorithm against a baseline on the same episodes."""

    against: str
    difference: Estimate
    verdict: Verdict
    trainings: int
    episodes: int


@dataclass(frozen=True)
class TrainingData:
    """A training and the others that differ from it in their seed only."""

    lead: Training
    seeds: tuple[Training, ...]
    """All of them, the lead included, by seed."""
    changed: Mapping[str, tuple[Any, Any]]
    """Settings that differ from their defaults: the value and the default."""
    tensorboard: bool
    """Whether the logs of the trainings could be read."""
    training_curves: tuple[Curve, ...]
    validation_curves: tuple[Curve, ...]
    validation_episodes: int | None
    evaluations: Mapping[int, Mapping[str, Any]]
    """The evaluation of each seed, all with the same settings and episodes."""

    @cached_property
    def steps(self) -> int:
        """Steps that every seed has been trained for."""
        return min(int(each.record.get("steps") or 0) for each in self.seeds)


def read_training(named: str, models: Path) -> TrainingData:
    """Read the training `named` and those of the same configuration with other seeds."""
    lead = find_training(named, models)
    if not lead.config:
        raise UsageError(f"training {lead.run_id} is damaged: {lead.problem}", "name one that can be read")
    folder = lead.folder.path.parent
    alike = [each for each in list_trainings(folder) if each.config and _identity(each) == _identity(lead)]
    by_seed: dict[int, Training] = {}
    for each in [lead, *sorted(alike, key=lambda each: each.run_id, reverse=True)]:  # of equal seeds the newest
        by_seed.setdefault(int(each.config["seed"]), each)
    seeds = tuple(by_seed[seed] for seed in sorted(by_seed))
    readable, training_curves = True, []
    for each in seeds:
        curves = read_curves(each.folder.logs_path)
        readable = readable and curves is not None
        found = next((curves[name] for name in REWARD_CURVES if curves and name in curves), None)
        if found:
            training_curves.append(Curve(int(each.config["seed"]), each.run_id, found))
    validations = [
        Curve(
            int(each.config["seed"]),
            each.run_id,
            {int(one["steps"]): float(one["mean_reward"]) for one in each.record.get("validations") or ()},
        )
        for each in seeds
    ]
    episodes = next((one["episodes"] for each in seeds for one in each.record.get("validations") or ()), None)
    return TrainingData(
        lead,
        seeds,
        changed_settings(lead),
        readable,
        tuple(training_curves),
        tuple(each for each in validations if each.values),
        episodes,
        _evaluations(seeds, lead),
    )


def changed_settings(training: Training) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ from their defaults: the value and the default, which is None if unknown."""
    config = dict(training.config)
    inner = config.pop("env_config", None) or {}
    defaults = {name: each.get_default() for name, each in TrainConfig.model_fields.items() if not each.is_required()}
    defaults |= env_defaults(config)
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in defaults.items()}
    identity = {"env", "framework", "algorithm", "seed"}
    changed = {
        name: (value, plain.get(name))
        for name, value in config.items()
        if name not in identity and (name not in plain or plain[name] != value)
    }
    return changed | {f"env.{name}": (value, None) for name, value in inner.items()}


def _identity(training: Training) -> str:
    """Settings and world without the seed: trainings with equal ones are repetitions."""
    settings = {name: value for name, value in training.config.items() if name not in {"seed", "test_episodes"}}
    return json.dumps([settings, training.record.get("world_digest")], sort_keys=True)


def _evaluations(seeds: Sequence[Training], lead: Training) -> dict[int, Mapping[str, Any]]:
    """Return the newest evaluation of the lead, and those of the other seeds that ask the same."""
    asked: dict[str, dict[int, Mapping[str, Any]]] = {}
    newest = ""
    for each in seeds:
        for file in evaluation_files(each.folder):
            try:
                document = read_eval(file.read_bytes(), file)
            except (EvaluationFileError, OSError):
                continue
            env = document["env"]
            key = json.dumps([document["settings"], env["name"], env["config"], env["world_digest"]], sort_keys=True)
            asked.setdefault(key, {})[int(each.config["seed"])] = document
            if each is lead:
                newest = key
    if newest:
        return asked[newest]
    return max(asked.values(), key=len, default={})


def pooled_comparisons(parts: Mapping[int, Mapping[str, Any]], settings: Mapping[str, Any]) -> list[PooledComparison]:
    """Compare all seeds together with each baseline, from the rewards that their evaluations hold.

    `parts` are the parts of one role by seed. Empty with fewer than two seeds.
    """
    if len(parts) < 2:
        return []
    first = next(iter(parts.values()))
    subject = first["comparisons"][0]["strategy"] if first["comparisons"] else ""
    bootstrap = Bootstrap(settings["seed"], settings["resamples"], settings["confidence"])
    found = []
    for each in first["comparisons"]:
        against = each["against"]
        if each["strategy"] != subject or any(against not in part or subject not in part for part in parts.values()):
            continue
        differences = np.stack(
            [np.array(part[subject]["rewards"]) - np.array(part[against]["rewards"]) for part in parts.values()]
        )
        estimate = bootstrap.estimate_pooled(differences)
        pairs = [one for part in parts.values() for one in part["comparisons"] if one["against"] == against]
        verdict = judged(
            subject,
            against,
            estimate,
            episodes=differences.shape[1],
            distinct=min(one["distinct_pairs"] for one in pairs),
            equal=int((differences == 0).all(axis=0).sum()),
            confidence=settings["confidence"],
            minimum=settings["minimum_distinct"],
        )
        found.append(PooledComparison(against, estimate, verdict, len(parts), differences.shape[1]))
    return found
