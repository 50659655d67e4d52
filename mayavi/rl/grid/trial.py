"""One training of a grid, in a worker process: train or resume it, then evaluate it on the validation split."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import mayavi
from mayavi.errors import CheckpointError, MayaviError, UsageError
from mayavi.evm.specialise import specialised
from mayavi.parallel.processes import ONE_THREAD
from mayavi.rl.config import TrainConfig
from mayavi.rl.evaluation.after_training import evaluate_training
from mayavi.rl.evaluation.document import read_eval
from mayavi.rl.models import Model
from mayavi.rl.training.backend import MODAL, train_on
from mayavi.rl.training.validation import SPLIT
from mayavi.rl.training_runs.catalogue import evaluation_files
from mayavi.rl.training_runs.folder import FINISHED, RECORD, RunFolder

PATIENCE_S = 60.0
"""How long a trial waits for the lock of its run: the workers of a killed grid live on for some seconds."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A training and how it is evaluated, as plain data that is sent to a worker."""

    config: dict[str, Any]
    run_id: str
    models: str
    backend: str
    env_config: dict[str, Any]
    """Settings of the environment of the comparison, with its split."""
    episodes: int
    version: str = mayavi.__version__
    specialise: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data, which `Trial(**data)` accepts."""
        return asdict(self)

    @property
    def folder(self) -> RunFolder:
        """Folder of the run."""
        return RunFolder(Path(self.models) / self.run_id)


def run_trial(given: Mapping[str, Any]) -> dict[str, Any]:
    """Run the training of a trial unless it is finished, and evaluate it. Never raises: returns `error` instead."""
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)
    trial = Trial(**given)
    try:
        _run(trial)
    except MayaviError as error:
        return {"run_id": trial.run_id, "error": error.message, "hint": error.hint or ""}
    except Exception as error:  # reported in the table: the other trainings go on
        return {"run_id": trial.run_id, "error": f"{type(error).__name__}: {error}", "hint": ""}
    return {"run_id": trial.run_id, "error": ""}


def is_trained(trial: Trial) -> bool:
    """Whether the training of a trial is finished; False if its files cannot be read."""
    try:
        record = trial.folder.read()
    except CheckpointError:  # missing, or damaged: the trial says so
        return False
    return record["status"] == FINISHED and int(record["steps"]) >= int(trial.config["timesteps"])


def stored_evaluation(trial: Trial) -> dict[str, Any] | None:
    """Stored evaluation of a trial with the settings of the trial; None if there is none yet."""
    for file in evaluation_files(trial.folder):
        try:
            found = read_eval(file.read_bytes(), file)
            env, steps = found["env"], found["models"][0]["steps"]
            own = (env["config"], env["world_digest"], found["settings"]["episodes"], steps)
        except (MayaviError, OSError, KeyError, IndexError):
            continue
        settings, record = found["settings"], trial.folder.read()
        plain = settings["deterministic"] and settings["seed"] == 0 and not settings.get("noise")
        if plain and own == (trial.env_config, record["world_digest"], trial.episodes, record["steps"]):
            return found
    return None


def _run(trial: Trial) -> None:
    if mayavi.__version__ != trial.version:
        raise UsageError(
            f"a node of the Ray cluster has mayavi {mayavi.__version__}, and the grid runs on {trial.version}",
            "install the same version on all of them",
        )
    config, models = TrainConfig.of(trial.config), Path(trial.models)
    if trial.backend == MODAL and not is_trained(trial):
        from mayavi.rl.modal.training import fetch_run

        fetch_run(trial.run_id, models, say=_silent)  # a killed grid may have left the run in the volume
    if not is_trained(trial):
        begun = (trial.folder.path / RECORD).is_file()
        if begun:
            _wait_for(trial.folder)
        if not is_trained(trial):  # the worker of a killed grid may have finished it meanwhile
            resume, fresh = (str(trial.folder.path), None) if begun else (None, trial.run_id)
            mode = trial.specialise
            train_on(trial.backend, config, models=models, resume=resume, run_id=fresh, say=_silent, specialise=mode)
    if stored_evaluation(trial) is None:
        with specialised(trial.specialise):
            evaluate_training(Model(trial.folder), split=SPLIT, episodes=trial.episodes, config=trial.env_config)


def _wait_for(folder: RunFolder) -> None:
    until = time.monotonic() + PATIENCE_S
    while folder.is_held() and time.monotonic() < until:
        time.sleep(0.2)


def _silent(_: str) -> None:
    """Drop messages of single trainings."""
