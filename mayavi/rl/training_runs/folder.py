"""Folder of a training run: `data/models/RUN_ID/`.

| path | contents |
|---|---|
| `run.json` | configuration, versions, world, seeds, status and figures |
| `checkpoints/STEP/` | policy and, in the newest checkpoint, everything needed to resume |
| `final/` | checkpoint at the end of the training |
| `best/` | policy with the highest mean reward on the validation split, with `evaluate_every` |
| `logs/` | TensorBoard |
| `eval/*.json` | evaluations |
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mayavi.errors import CheckpointError, UnknownRun, UsageError
from mayavi.rl.config import TrainConfig
from mayavi.rl.training_runs.atomic_files import write_json
from mayavi.rl.training_runs.checkpoints import MANIFEST, Checkpoint, list_checkpoints, read_checkpoint
from mayavi.runs.run_id import resolve

FORMAT = 1
VARIABLE = "MAYAVI_MODELS"
DEFAULT = Path("data/models")
RECORD = "run.json"
EVALUATIONS = "evaluations"
"""Folder in that of the models for evaluations of several runs; that of one run is in the run's own folder."""
BEST = "best"
TRAINING, FINISHED, INTERRUPTED, FAILED = "training", "finished", "interrupted", "failed"


def models_path(named: str | Path | None = None) -> Path:
    """Folder of all training runs: `named`, else MAYAVI_MODELS, else `data/models`."""
    if named is not None and not str(named).strip():
        raise UsageError("the folder of models has an empty name", "name a folder, such as `--models data/models`")
    return Path(named or os.environ.get(VARIABLE, "").strip() or DEFAULT).expanduser()


class RunFolder:
    """Training run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def run_id(self) -> str:
        """Id of the run, which is the name of its folder."""
        return self.path.name

    @property
    def checkpoints_path(self) -> Path:
        """Folder of the checkpoints by step."""
        return self.path / "checkpoints"

    @property
    def final_path(self) -> Path:
        """Checkpoint at the end of the training."""
        return self.path / "final"

    @property
    def best_path(self) -> Path:
        """Checkpoint with the highest mean reward on the validation split."""
        return self.path / BEST

    @property
    def logs_path(self) -> Path:
        """TensorBoard logs."""
        return self.path / "logs"

    @property
    def eval_path(self) -> Path:
        """Evaluations of the run."""
        return self.path / "eval"

    @property
    def models_option(self) -> str:
        """` --models FOLDER` for a command that names the run by its id; empty if the run is in the default folder."""
        models = self.path.parent
        return "" if models.absolute() == models_path().absolute() else f" --models {models}"

    def read(self) -> dict[str, Any]:
        """Read `run.json`. A run marked as training is `interrupted` if its process is gone.

        Raises `CheckpointError` for a missing or damaged record, and for one of a newer version.
        """
        file = self.path / RECORD
        try:
            record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            version = int(record["format"])
        except FileNotFoundError:
            raise CheckpointError(f"'{self.path}' holds no training run", f"a run has a {RECORD}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"'{file}' cannot be read: {error}") from None
        if version > FORMAT:
            raise CheckpointError(
                f"run {self.run_id} has format {version}, and this mayavi reads formats up to {FORMAT}",
                "install a newer mayavi",
            )
        if record["status"] == TRAINING and not self.is_held():
            record["status"] = INTERRUPTED
        return record

    def write(self, record: Mapping[str, Any]) -> None:
        """Replace `run.json`."""
        heading = {"format": FORMAT, "run_id": self.run_id}
        write_json(self.path / RECORD, heading | dict(record) | heading | {"updated_at": now()})

    def config(self) -> TrainConfig:
        """Configuration of the training."""
        return TrainConfig.of(self.read()["config"])

    def checkpoints(self) -> list[Checkpoint]:
        """Checkpoints sorted by steps; `final` last, if the training is finished."""
        found = list_checkpoints(self.checkpoints_path)
        if (self.final_path / MANIFEST).is_file():
            final = read_checkpoint(self.final_path, whole=False)
            found = [each for each in found if each.steps != final.steps] + [final]
        return found

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the run while it is trained; `UsageError` if another process holds the lock."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (NotADirectoryError, FileExistsError):
            raise UsageError(
                f"'{self.path.parent}' is not a folder, so no run can be kept there", "name another: `--models FOLDER`"
            ) from None
        with open(self.path / ".lock", "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UsageError(f"run {self.run_id} is being trained by another process", "wait for it") from None
            yield

    def is_held(self) -> bool:
        """Whether a process is training the run."""
        try:
            with open(self.path / ".lock") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False


def list_runs(models: Path) -> list[RunFolder]:
    """Training runs in `models`, oldest first."""
    if not models.is_dir():
        return []
    return [RunFolder(each) for each in sorted(models.iterdir()) if (each / RECORD).is_file()]


def find_run(named: str, models: Path) -> RunFolder:
    """Find a run by its id, the start or end of the id, `latest`, or the path of its folder."""
    if "/" in named or (Path(named) / RECORD).is_file():
        folder = Path(named)
        if not (folder / RECORD).is_file():
            raise UnknownRun(f"there is no training run at '{named}'", f"a run's folder has a {RECORD}")
        return RunFolder(folder)
    known = [each.run_id for each in list_runs(models)]
    if not known:
        raise UnknownRun(f"unknown training run '{named}'", f"'{models}' holds no runs; `mayavi train` makes one")
    try:
        return RunFolder(models / resolve(named, known, "training run"))
    except UnknownRun as error:
        hint = (error.hint or "").replace("  `mayavi runs list` shows all", "")
        raise UnknownRun(error.message, f"{hint}  runs are in '{models}'") from None


def further_timesteps(record: Mapping[str, Any]) -> int:
    """Timesteps to propose for training a finished run further: twice as many, and more than it has trained."""
    timesteps, steps = int(record["config"]["timesteps"]), int(record["steps"])
    return 2 * (timesteps if 2 * timesteps > steps else steps)


def now() -> str:
    """Current time in UTC, as written in records."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
