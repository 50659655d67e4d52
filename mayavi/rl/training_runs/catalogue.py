"""Trainings of a models folder: list, find, describe and remove them. No training framework is imported.

A training whose record or final checkpoint cannot be read is listed as `damaged`, with the reason.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mayavi.errors import MayaviError, UnknownRun, UsageError
from mayavi.rl.training_runs.checkpoints import MANIFEST, read_checkpoint
from mayavi.rl.training_runs.folder import BEST, FINISHED, RECORD, TRAINING, RunFolder, further_timesteps
from mayavi.runs.run_id import resolve

DAMAGED = "damaged"
REMOVING = ".removing"
_TRACES = (RECORD, "checkpoints", "final", BEST, ".lock")
"""Files and folders by which the folder of a training is recognised, if its record is missing."""
_NEEDED = ("env", "framework", "algorithm", "seed", "timesteps")


@dataclass(frozen=True, slots=True)
class Score:
    """Mean reward of a training, by role; the role of a single agent is ""."""

    of: str
    """`test`, `validation` or `train`: the split that was evaluated; `training`: the last episodes of the training."""
    mean_reward: Mapping[str, float]
    episodes: int | None = None
    how: str = ""
    """`under noise`, `on another world` or both, if the evaluation was made so."""
    steps: int | None = None
    """Steps of the policy that was evaluated; None for other scores and where unknown."""

    def to_json(self) -> dict[str, Any]:
        """Score as JSON data; the reward of a single agent is a number."""
        rewards = dict(self.mean_reward)
        found = {"of": self.of, "mean_reward": rewards.get("", rewards or None), "episodes": self.episodes}
        more = {"how": self.how or None, "steps": self.steps}
        return found | {name: value for name, value in more.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Training:
    """A training on disk. `record` is its `run.json`, empty if it cannot be read; `problem` says what is damaged."""

    folder: RunFolder
    record: Mapping[str, Any]
    problem: str = ""

    @property
    def run_id(self) -> str:
        """Id of the run."""
        return self.folder.run_id

    @property
    def status(self) -> str:
        """`training`, `finished`, `interrupted`, `failed` or `damaged`."""
        return DAMAGED if self.problem else str(self.record["status"])

    @property
    def config(self) -> Mapping[str, Any]:
        """Settings as they were stored; empty if the record cannot be read."""
        found = self.record.get("config")
        return found if isinstance(found, dict) else {}

    def score(self) -> Score | None:
        """The newest evaluation, else the best validation, else the last episodes of the training; None if unknown.

        Evaluations under noise or on another world are no score of the training.
        """
        for found in reversed(self.evaluations().values()):
            if not found.how:
                return found
        best = self.record.get("best")
        if isinstance(best, dict) and isinstance(best.get("mean_reward"), int | float):
            return Score("validation", {"": float(best["mean_reward"])}, best.get("episodes"))
        mean = self.record.get("mean_reward")
        return Score("training", {"": float(mean)}) if isinstance(mean, int | float) else None

    def evaluations(self) -> dict[str, Score]:
        """Scores of the evaluations that can be read, oldest first, by the name of their file."""
        world = self.record.get("world_digest")
        found = {file.stem: evaluation_score(file, world) for file in evaluation_files(self.folder)}
        return {name: score for name, score in found.items() if score is not None}

    def summary(self) -> dict[str, Any]:
        """Facts for a list of trainings, as JSON data; None where they are unknown."""
        score = self.score()
        return {
            "run_id": self.run_id,
            "path": str(self.folder.path),
            "status": self.status,
            "problem": self.problem or None,
            **{name: self.config.get(name) for name in ("env", "framework", "algorithm", "recurrent", "seed")},
            "steps": self.record.get("steps"),
            "timesteps": self.config.get("timesteps"),
            **{name: self.record.get(name) for name in ("started_at", "finished_at", "updated_at", "seconds")},
            "score": None if score is None else score.to_json(),
        }


def list_trainings(models: Path) -> list[Training]:
    """Trainings in `models`, newest first, damaged ones included."""
    if not models.is_dir():
        return []
    found = [each for each in models.iterdir() if not each.name.startswith(".") and _is_training(each)]
    return sorted((open_training(each) for each in found), key=_begun, reverse=True)


def find_training(named: str, models: Path) -> Training:
    """Find a training by its id, a unique start or end of the id, `latest`, or the path of its folder."""
    if "/" in named or (Path(named) / RECORD).is_file():
        path = Path(named)
        if not _is_training(path):
            raise UnknownRun(f"there is no training at '{named}'", f"the folder of a training holds a {RECORD}")
        return open_training(path)
    known = {each.run_id: each for each in list_trainings(models)}
    if not known:
        raise UnknownRun(f"unknown training '{named}'", f"'{models}' holds no trainings; `mayavi train` makes one")
    if named.strip() == "latest":
        return next(iter(known.values()))
    try:
        return known[resolve(named, list(known), "training")]
    except UnknownRun as error:
        hint = (error.hint or "").replace("`mayavi runs list`", "`mayavi trainings list`")
        raise UnknownRun(error.message, hint) from None


def open_training(path: Path) -> Training:
    """Read the training in the folder `path`; what cannot be read is its `problem`."""
    folder = RunFolder(path)
    try:
        record = folder.read()
        problem = _problem(folder, record)
    except MayaviError as error:
        return Training(folder, {}, str(error))
    except (KeyError, TypeError, AttributeError) as error:
        return Training(folder, {}, f"'{path / RECORD}' lacks {error}")
    except OSError as error:
        return Training(folder, {}, f"'{path / RECORD}' cannot be read: {error.strerror}")
    return Training(folder, record, problem)


def remove_trainings(trainings: Sequence[Training]) -> None:
    """Remove the folders of `trainings` and nothing else. Raises `UsageError`, and removes none, if one is running."""
    for each in trainings:
        if each.folder.is_held():
            raise UsageError(
                f"training {each.run_id} is running, so that it cannot be removed",
                "stop it first: Ctrl-C where it runs; nothing was removed",
            )
    for each in trainings:
        path = each.folder.path
        if path.is_symlink():  # the folder elsewhere is not ours to remove
            path.unlink()
            continue
        with each.folder.held():  # nobody resumes it meanwhile
            leaving = path.with_name(f".{path.name}{REMOVING}.{os.getpid()}")
            os.replace(path, leaving)  # from here on nobody finds it, even if removing its files is interrupted
        shutil.rmtree(leaving)


def evaluation_files(folder: RunFolder) -> list[Path]:
    """Evaluations of a training, oldest first."""
    found = [each for each in folder.eval_path.glob("*.json") if each.is_file()]
    return sorted(found, key=lambda each: (each.stat().st_mtime_ns, each.name))


def evaluation_score(file: Path, world_digest: str | None = None) -> Score | None:
    """Mean reward of the policy in an evaluation; None if the file cannot be read.

    `world_digest` is that of the world of the training.
    """
    try:
        document = json.loads(file.read_bytes())
        name = document["models"][0]["name"]
        parts = {role: document[role] for role in document["roles"]} if "roles" in document else {"": document}
        rewards = {role: float(part[name]["mean_reward"]) for role, part in parts.items() if name in part}
        env, settings = document["env"], document["settings"]
        digests = {env.get("world_digest"), world_digest} - {None}
        how = [*(["under noise"] if settings.get("noise") else []), *(["on another world"] if len(digests) > 1 else [])]
        split, steps = str(env["config"]["split"]), document["models"][0].get("steps")
        kept = steps if isinstance(steps, int) else None
        return Score(split, rewards, int(settings["episodes"]), ", ".join(how), kept)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None


def score_note(training: Training) -> str:
    """Note that the score is of another number of steps than are trained now; "" if it is not."""
    score, steps = training.score(), training.record.get("steps")
    if score is None or score.steps is None or not isinstance(steps, int) or score.steps == steps:
        return ""
    command = f"mayavi eval {training.run_id}{training.folder.models_option}"
    return (
        f"{training.run_id}: its newest evaluation is of {score.steps:,} steps, and {steps:,} are trained; "
        f"`{command}` makes a new one"
    )


def continuation(training: Training, models: Path | None = None) -> str:
    """Command that continues a training, or why there is none."""
    there = "" if models is None else f" --models {models}"
    resume = f"mayavi train --resume {training.run_id}{there}"
    if training.status == DAMAGED:
        return f"nothing: {training.problem}"
    if training.status == TRAINING:
        return "it is being trained now"
    if training.status == FINISHED:
        return f"`{resume} --timesteps {further_timesteps(training.record)}` trains it further"
    return f"`{resume}` continues it"


def _is_training(path: Path) -> bool:
    return path.is_dir() and any((path / each).exists() for each in _TRACES)


def _begun(training: Training) -> tuple[str, str]:
    """Sort key: the time of the start; of a damaged training its id, which begins with it."""
    started = training.record.get("started_at")
    digits = "".join(letter for letter in str(started) if letter.isdigit())[:14]
    own = training.run_id.replace("-", "")[:14]
    return (digits if started else own if own.isdigit() else "", training.run_id)


def _problem(folder: RunFolder, record: Mapping[str, Any]) -> str:
    """What is missing from a training whose record can be parsed; "" if nothing is."""
    config = record["config"]
    missing = [name for name in _NEEDED if name not in config] + [name for name in ("steps",) if name not in record]
    if missing:
        return f"'{folder.path / RECORD}' lacks {', '.join(missing)}"
    if record["status"] == FINISHED:
        if not (folder.final_path / MANIFEST).is_file():
            return f"the final checkpoint is missing: there is no '{folder.final_path / MANIFEST}'"
        absent = [name for name in read_checkpoint(folder.final_path, whole=False).facts["files"]
                  if not (folder.final_path / name).is_file()]  # fmt: skip
        if absent:
            return f"the final checkpoint lacks {absent[0]}"
    return ""
