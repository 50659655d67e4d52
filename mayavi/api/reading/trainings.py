"""Trainings and evaluations in the folder of models. Ids are names that a listing gave, never paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from mayavi.api.models.trainings import EvaluationSummary, TrainingSummary
from mayavi.api.reading.ids import is_id, unknown
from mayavi.rl.training_runs.catalogue import Training, evaluation_files, list_trainings
from mayavi.rl.training_runs.folder import EVALUATIONS, RECORD

_MAKE_ONE = "there is none yet; `mayavi train` makes one"
_MOST_BYTES = 64 * 2**20


def trainings(models: Path) -> dict[str, Training]:
    """Return the trainings by id, newest first."""
    return {each.run_id: each for each in list_trainings(models) if is_id(each.run_id)}


def training(models: Path, training_id: str) -> Training:
    """Return a training by its full id; 404 with the nearest id."""
    known = trainings(models)
    if training_id not in known:
        raise unknown("training", training_id, known, _MAKE_ONE)
    return known[training_id]


def training_summary(found: Training) -> TrainingSummary:
    """Describe a training."""
    facts = found.summary()
    score = facts["score"]
    reward = score["mean_reward"] if score else None
    if isinstance(reward, Mapping):  # a market of several roles has no single one
        reward = None
    return TrainingSummary(
        training_id=found.run_id,
        env=_text(facts["env"]),
        framework=_text(facts["framework"]),
        algorithm=_text(facts["algorithm"]),
        seed=_integer(facts["seed"]),
        status=found.status,
        problem=facts["problem"],
        steps=_integer(facts["steps"]),
        timesteps=_integer(facts["timesteps"]),
        mean_reward=_number(reward),
        reward_of=score["of"] if score else None,
        started_at=_time(facts["started_at"]),
        seconds=_number(facts["seconds"]),
    )


def training_version(found: Training) -> tuple[object, ...]:
    """What the report of a training depends on, as far as files tell."""
    files = [found.folder.path / RECORD, *evaluation_files(found.folder)]
    stamps = []
    for file in files:
        try:
            state = file.stat()
            stamps.append((file.name, state.st_mtime_ns, state.st_size))
        except OSError:
            stamps.append((file.name, 0, 0))
    return tuple(stamps)


@dataclass(frozen=True, slots=True)
class EvaluationFile:
    """An evaluation in the folder of a training, or of several trainings in the folder of models."""

    evaluation_id: str
    training_id: str | None
    path: Path
    written_ns: int
    size: int


def evaluations(models: Path) -> dict[str, EvaluationFile]:
    """Return the evaluations by id, newest first."""
    files: list[tuple[str | None, Path]] = [
        (each.run_id, file) for each in trainings(models).values() for file in evaluation_files(each.folder)
    ]
    files += [(None, file) for file in (models / EVALUATIONS).glob("*.json") if file.is_file()]
    found: list[EvaluationFile] = []
    for training_id, file in files:
        name = f"{training_id or EVALUATIONS}.{file.stem}"
        if is_id(name):
            state = file.stat()
            found.append(EvaluationFile(name, training_id, file, state.st_mtime_ns, state.st_size))
    found.sort(key=lambda each: (each.written_ns, each.evaluation_id), reverse=True)
    return {each.evaluation_id: each for each in found}


def evaluation(models: Path, evaluation_id: str) -> EvaluationFile:
    """Return an evaluation by its id; 404 with the nearest id."""
    known = evaluations(models)
    if evaluation_id not in known:
        raise unknown("evaluation", evaluation_id, known, "there is none yet; `mayavi eval` makes one")
    return known[evaluation_id]


def evaluation_summary(file: EvaluationFile) -> EvaluationSummary:
    """Describe an evaluation; what a damaged file does not say is None."""
    env, models, against, verdict, episodes = _facts(file)
    return EvaluationSummary(
        evaluation_id=file.evaluation_id,
        env=env,
        models=list(models),
        against=list(against),
        verdict=verdict,
        episodes=episodes,
        training_id=file.training_id,
        written_at=datetime.fromtimestamp(file.written_ns / 1e9, UTC),
    )


@lru_cache(maxsize=1000)
def _facts(file: EvaluationFile) -> tuple[str | None, tuple[str, ...], tuple[str, ...], str | None, int | None]:
    """Environment, models, what they are compared with, verdict and episodes of a file in one state."""
    from mayavi.errors import MayaviError
    from mayavi.report.shapes.learning.evaluation import page_verdict
    from mayavi.rl.evaluation.document import read_eval

    if file.size > _MOST_BYTES:
        return None, (), (), None, None
    try:
        document = read_eval(file.path.read_bytes(), file.path.name)
        models = tuple(str(each["name"]) for each in document["models"])
        env, episodes = str(document["env"]["name"]), int(document["settings"]["episodes"])
        against = tuple(dict.fromkeys(str(each["against"]) for each in document["comparisons"]))
        return env, models, against, page_verdict(document).badge, episodes
    except (OSError, MayaviError, KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError):
        return None, (), (), None, None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    from math import isfinite

    return float(value) if isinstance(value, int | float) and isfinite(value) else None


def _time(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
