"""The folder of a training run: `data/models/RUN_ID/`.

| what | holds |
|---|---|
| `run.json` | configuration, versions, world, seeds, status and figures |
| `checkpoints/STEP/` | the policy and all that is needed to go on from there |
| `final/` | the same, when the training is finished |
| `best/` | the policy that did best on the validation split, where it was evaluated while it was trained |
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
from mayavi.rl.training.checkpoints import Checkpoint, list_checkpoints, read_checkpoint, write_json

FORMAT = 1
VARIABLE = "MAYAVI_MODELS"
DEFAULT = Path("data/models")
RECORD = "run.json"
BEST = "best"
TRAINING, FINISHED, INTERRUPTED, FAILED = "training", "finished", "interrupted", "failed"


def models_path(named: str | Path | None = None) -> Path:
    """Where training runs are kept: what is `named`, else MAYAVI_MODELS, else `data/models`."""
    if named is not None and not str(named).strip():
        raise UsageError("the folder of models is named ''", "name a folder, such as `--models data/models`")
    return Path(named or os.environ.get(VARIABLE, "").strip() or DEFAULT).expanduser()


class RunFolder:
    """A training run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def run_id(self) -> str:
        """The run's id, which is the folder's name."""
        return self.path.name

    @property
    def checkpoints_path(self) -> Path:
        """Where checkpoints lie."""
        return self.path / "checkpoints"

    @property
    def final_path(self) -> Path:
        """Where the finished training lies."""
        return self.path / "final"

    @property
    def best_path(self) -> Path:
        """Where the policy lies that did best on the validation split."""
        return self.path / BEST

    @property
    def logs_path(self) -> Path:
        """Where TensorBoard looks."""
        return self.path / "logs"

    @property
    def eval_path(self) -> Path:
        """Where evaluations lie."""
        return self.path / "eval"

    def read(self) -> dict[str, Any]:
        """The record; a run that says it is training and whose process is gone is told as interrupted."""
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
                f"run {self.run_id} has the format {version}, and this mayavi knows up to {FORMAT}",
                "install a newer mayavi",
            )
        if record["status"] == TRAINING and not self.is_held():
            record["status"] = INTERRUPTED
        return record

    def write(self, record: Mapping[str, Any]) -> None:
        """Replace the record."""
        heading = {"format": FORMAT, "run_id": self.run_id}
        write_json(self.path / RECORD, heading | dict(record) | heading | {"updated_at": now()})

    def config(self) -> TrainConfig:
        """What was trained."""
        return TrainConfig.of(self.read()["config"])

    def checkpoints(self) -> list[Checkpoint]:
        """All checkpoints by their steps, the finished training last."""
        found = list_checkpoints(self.checkpoints_path)
        if (self.final_path / "checkpoint.json").is_file():
            final = read_checkpoint(self.final_path, whole=False)
            found = [each for each in found if each.steps != final.steps] + [final]
        return found

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the run, so that nobody else trains it; `UsageError` where somebody does."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (NotADirectoryError, FileExistsError):
            raise UsageError(
                f"'{self.path.parent}' is no folder, so no run can be kept there", "name another: `--models FOLDER`"
            ) from None
        with open(self.path / ".lock", "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UsageError(f"run {self.run_id} is being trained by another process", "wait for it") from None
            yield

    def is_held(self) -> bool:
        """Whether a process trains it now."""
        try:
            with open(self.path / ".lock") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False


def list_runs(models: Path) -> list[RunFolder]:
    """All training runs in `models`, the oldest first."""
    if not models.is_dir():
        return []
    return [RunFolder(each) for each in sorted(models.iterdir()) if (each / RECORD).is_file()]


def find_run(named: str, models: Path) -> RunFolder:
    """The run that `named` means: its id, the beginning or end of one, `latest`, or the path of its folder."""
    from mayavi.runs.run_id import resolve

    if "/" in named or (Path(named) / RECORD).is_file():
        folder = Path(named)
        if not (folder / RECORD).is_file():
            raise UnknownRun(f"there is no training run at '{named}'", f"a run's folder has a {RECORD}")
        return RunFolder(folder)
    known = [each.run_id for each in list_runs(models)]
    if not known:
        raise UnknownRun(f"unknown training run '{named}'", f"'{models}' holds none; `mayavi train` makes one")
    try:
        return RunFolder(models / resolve(named, known, "training run"))
    except UnknownRun as error:
        hint = (error.hint or "").replace("  `mayavi runs list` shows all", "")
        raise UnknownRun(error.message, f"{hint}  they are in '{models}'") from None


def now() -> str:
    """The time as records have it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
