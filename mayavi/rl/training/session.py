"""Progress reports, TensorBoard logs, checkpoints and validation between rollouts, for all frameworks."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mayavi.evm.specialise import current
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import EnvFacts
from mayavi.rl.training.cost import Meter, Rental
from mayavi.rl.training.progress import Progress, TrainProgress
from mayavi.rl.training.resuming import changed_schedules
from mayavi.rl.training.validation import Validator, best_of
from mayavi.rl.training_runs.checkpoints import Checkpoint, drop_resume_files, write_checkpoint
from mayavi.rl.training_runs.folder import FINISHED, RunFolder, now


@dataclass(frozen=True, slots=True)
class Boundary:
    """Progress of a training between two rollouts, and a function that saves its state."""

    steps: int
    episodes: int
    mean_reward: float | None
    save: Callable[[Path], None]
    """Writes the files of a checkpoint to a folder."""
    only_to_resume: tuple[str, ...] = ()
    """Files of `save` that are needed to resume but not to use the policy; only the newest checkpoint keeps them."""


class Session:
    """One uninterrupted part of a training, from its start or from a checkpoint."""

    def __init__(
        self,
        folder: RunFolder,
        config: TrainConfig,
        facts: EnvFacts,
        record: dict[str, Any],
        *,
        progress: Progress | None = None,
        commit: Callable[[], None] | None = None,
        rental: Rental | None = None,
    ) -> None:
        self.folder, self.config, self.facts, self.record = folder, config, facts, record
        self._progress, self._commit = progress, commit
        self._began = time.monotonic()
        self._seconds_before = float(record["seconds"])
        self._saved_at, self._saved_steps = self._began, int(record["steps"])
        self._meter = Meter(record, rental or Rental.local())
        self._newest: Checkpoint | None = None
        self._validator = Validator(folder, config, int(record["steps"])) if config.evaluate_every else None
        self._writer: Any = None

    @property
    def seconds(self) -> float:
        """Training time of the run, over all its sessions."""
        return self._seconds_before + time.monotonic() - self._began

    def at(self, boundary: Boundary) -> None:
        """Report progress; validate and save a checkpoint when due. Also saves if Ctrl-C interrupts the report."""
        self._record_figures(boundary)
        validated = self._validator is not None and self._validator.due(boundary.steps)
        if validated:
            self._validate(boundary)
        try:
            self._report(boundary)
        except KeyboardInterrupt:
            self.save(boundary)
            raise
        time_passed = time.monotonic() - self._saved_at >= self.config.checkpoint_every_s
        steps_passed = boundary.steps - self._saved_steps >= self.config.steps_between_checkpoints
        if (time_passed or steps_passed or validated) and boundary.steps < self.config.timesteps:
            self.save(boundary)

    def save(self, boundary: Boundary) -> None:
        """Write a checkpoint."""
        path = self.folder.checkpoints_path / str(boundary.steps)
        checkpoint = write_checkpoint(path, self._facts(boundary), boundary.save)
        if self._newest is not None and self._newest.path != path:
            drop_resume_files(self._newest)
        self._newest = checkpoint
        self._saved_at, self._saved_steps = time.monotonic(), boundary.steps
        self.write_record()

    def finish(self, boundary: Boundary) -> None:
        """Validate, write `final/`, mark the run as finished, and report. A Ctrl-C in the report leaves it finished."""
        self._record_figures(boundary)
        if self._validator is not None:
            self._validate(boundary)
        write_checkpoint(self.folder.final_path, self._facts(boundary), boundary.save)
        for each in self.folder.checkpoints():
            if each.path != self.folder.final_path:
                drop_resume_files(each)
        self.record |= {"status": FINISHED, "finished_at": now()}
        self.write_record()
        self._report(boundary)

    def resumed_from(self, checkpoint: Checkpoint, reason: str = "") -> None:
        """Record in `run.json` that the training resumed from `checkpoint`; a `reason` says why not exactly.

        Schedules that follow from other timesteps than before are a reason too, as is that of the session which wrote
        the checkpoint, if that one did not resume exactly itself.
        """
        notes: list[dict[str, Any]] = self.record.get("resumes", [])
        wrote: dict[str, Any] = next((each for each in reversed(notes) if each["steps"] < checkpoint.steps), {})
        reasons = (wrote.get("reason"), reason, changed_schedules(self.config, checkpoint))
        reason = "; ".join(dict.fromkeys(each for each in reasons if each))
        self._newest = checkpoint if checkpoint.path.parent == self.folder.checkpoints_path else None
        note = {"steps": checkpoint.steps, "at": now(), "exact": not reason, **({"reason": reason} if reason else {})}
        self.record["resumes"] = [*notes, note]
        self.write_record()

    def write_record(self) -> None:
        """Write `run.json` and call `commit`."""
        self.record["seconds"] = round(self.seconds, 3)
        self._meter.update(self.record)
        if (replayed := current()) is not None:
            self.record["specialise"] = replayed.statistics()
        self.folder.write(self.record)
        if self._commit is not None:
            self._commit()

    def scalars(self, values: Mapping[str, float], steps: int) -> None:
        """Log scalars to TensorBoard; a machine without it trains without curves."""
        if self._writer is None:
            self._writer = self._open_log(steps)
        if self._writer is not False:
            for name, value in values.items():
                self._writer.add_scalar(name, value, steps)

    def _open_log(self, steps: int) -> Any:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ModuleNotFoundError:
            warnings.warn("tensorboard is not installed: this training has no curves", stacklevel=2)
            return False
        # Purge the entries after the last checkpoint of an interrupted session: they are logged again.
        return SummaryWriter(str(self.folder.logs_path), purge_step=steps)

    def close(self) -> None:
        """Flush and close the TensorBoard log."""
        if self._writer:
            self._writer.close()

    def _record_figures(self, boundary: Boundary) -> None:
        self.record |= {"steps": boundary.steps, "episodes": boundary.episodes, "mean_reward": boundary.mean_reward}

    def _validate(self, boundary: Boundary) -> None:
        assert self._validator is not None
        results = self._validator.validate(self.record["validations"], self._facts(boundary), boundary.save)
        self.record |= {"validations": results, "best": best_of(results)}
        self.scalars({"validation/mean_reward": results[-1]["mean_reward"]}, boundary.steps)

    def _report(self, boundary: Boundary) -> None:
        if self._progress is None:
            return
        validations = self.record["validations"]
        self._progress(
            TrainProgress(
                boundary.steps,
                self.config.timesteps,
                boundary.episodes,
                boundary.mean_reward,
                self.seconds,
                validations[-1]["mean_reward"] if validations else None,
            )
        )

    def _facts(self, boundary: Boundary) -> dict[str, Any]:
        """Contents of `checkpoint.json`, except for the hashes of files."""
        return {
            "run_id": self.folder.run_id,
            **self.facts.to_json(),
            "framework": self.config.framework,
            "algorithm": self.config.algorithm,
            "recurrent": self.config.recurrent,
            "timesteps": self.config.timesteps,  # may grow later, if the run is trained further
            "steps": boundary.steps,
            "episodes": boundary.episodes,
            "mean_reward": boundary.mean_reward,
            "validations": self.record["validations"],
            "world_digest": self.facts.world_digest,
            "versions": self.record["versions"],
            "saved_at": now(),
            "only_to_resume": list(boundary.only_to_resume),
        }
