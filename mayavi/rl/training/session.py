"""What happens between two rollouts, the same for both frameworks: progress, TensorBoard, checkpoints on a timer,
evaluations on the validation split."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import EnvFacts
from mayavi.rl.training.checkpoints import Checkpoint, lighten, write_checkpoint
from mayavi.rl.training.progress import Progress, TrainProgress
from mayavi.rl.training.run_folder import FINISHED, RunFolder, now
from mayavi.rl.training.validation import Validator, best_of


@dataclass(frozen=True, slots=True)
class Boundary:
    """A moment between two rollouts. `save` fills a folder with all that is needed to go on from here."""

    steps: int
    episodes: int
    mean_reward: float | None
    save: Callable[[Path], None]
    only_to_resume: tuple[str, ...] = ()
    """Files of `save` that the policy itself does not need: only the newest checkpoint keeps them."""


class Session:
    """One stretch of a training, from its start or from a checkpoint."""

    def __init__(
        self,
        folder: RunFolder,
        config: TrainConfig,
        facts: EnvFacts,
        record: dict[str, Any],
        *,
        progress: Progress | None = None,
        commit: Callable[[], None] | None = None,
    ) -> None:
        self.folder, self.config, self.facts, self.record = folder, config, facts, record
        self._progress, self._commit = progress, commit
        self._began = time.monotonic()
        self._before_s = float(record["seconds"])
        self._saved_at, self._saved_steps = self._began, int(record["steps"])
        self._newest: Checkpoint | None = None
        self._validator = Validator(folder, config, int(record["steps"])) if config.evaluate_every else None
        self._writer: Any = None

    @property
    def seconds(self) -> float:
        """How long this run has been trained, all stretches together."""
        return self._before_s + time.monotonic() - self._began

    def at(self, boundary: Boundary) -> None:
        """Tell how far it is, and save where it is time. An interruption while telling saves first."""
        self.record |= {"steps": boundary.steps, "episodes": boundary.episodes, "mean_reward": boundary.mean_reward}
        validated = self._validator is not None and self._validator.due(boundary.steps)
        if validated:
            self._validate(boundary)
        try:
            self._tell(boundary)
        except KeyboardInterrupt:
            self.save(boundary)
            raise
        waited = time.monotonic() - self._saved_at >= self.config.checkpoint_every_s
        walked = boundary.steps - self._saved_steps >= self.config.steps_between_checkpoints
        if (waited or walked or validated) and boundary.steps < self.config.timesteps:
            self.save(boundary)

    def save(self, boundary: Boundary) -> None:
        """Write a checkpoint of now."""
        path = self.folder.checkpoints_path / str(boundary.steps)
        found = write_checkpoint(path, self._facts(boundary), boundary.save)
        if self._newest is not None and self._newest.path != path:
            lighten(self._newest)
        self._newest = found
        self._saved_at, self._saved_steps = time.monotonic(), boundary.steps
        self.write_record()

    def finish(self, boundary: Boundary) -> None:
        """Write the finished training."""
        self.record |= {"steps": boundary.steps, "episodes": boundary.episodes, "mean_reward": boundary.mean_reward}
        if self._validator is not None:
            self._validate(boundary)
        self._tell(boundary)
        write_checkpoint(self.folder.final_path, self._facts(boundary), boundary.save)
        for each in self.folder.checkpoints():
            if each.path != self.folder.final_path:
                lighten(each)
        self.record |= {"status": FINISHED, "finished_at": now()}
        self.write_record()

    def _validate(self, boundary: Boundary) -> None:
        """Evaluate the policy of now; the best so far is kept."""
        assert self._validator is not None
        found = self._validator.judge(self.record["validations"], self._facts(boundary), boundary.save)
        self.record |= {"validations": found, "best": best_of(found)}
        self.scalars({"validation/mean_reward": found[-1]["mean_reward"]}, boundary.steps)

    def resumed_from(self, checkpoint: Checkpoint, *, exact: bool, reason: str = "") -> None:
        """Note in the record that the training went on from here, and whether exactly."""
        self._newest = checkpoint if checkpoint.path.parent == self.folder.checkpoints_path else None
        note = {"steps": checkpoint.steps, "at": now(), "exact": exact, **({"reason": reason} if reason else {})}
        self.record["resumes"] = [*self.record.get("resumes", []), note]
        self.write_record()

    def write_record(self) -> None:
        """Put the record on disk, and let whoever keeps the disk know."""
        self.record["seconds"] = round(self.seconds, 3)
        self.folder.write(self.record)
        if self._commit is not None:
            self._commit()

    def scalars(self, values: Mapping[str, float], steps: int) -> None:
        """Log figures for TensorBoard."""
        if self._writer is None:
            from torch.utils.tensorboard import SummaryWriter

            # What a training that died logged beyond its last checkpoint is gone through again.
            self._writer = SummaryWriter(str(self.folder.logs_path), purge_step=steps)
        for name, value in values.items():
            self._writer.add_scalar(name, value, steps)

    def close(self) -> None:
        """Flush the logs."""
        if self._writer is not None:
            self._writer.close()

    def _tell(self, boundary: Boundary) -> None:
        if self._progress is not None:
            self._progress(
                TrainProgress(
                    boundary.steps,
                    self.config.timesteps,
                    boundary.episodes,
                    boundary.mean_reward,
                    self.seconds,
                    self.record["validations"][-1]["mean_reward"] if self.record["validations"] else None,
                )
            )

    def _facts(self, boundary: Boundary) -> dict[str, Any]:
        return {
            "run_id": self.folder.run_id,
            **self.facts.to_json(),
            "framework": self.config.framework,
            "algorithm": self.config.algorithm,
            "recurrent": self.config.recurrent,
            "timesteps": self.config.timesteps,  # as asked for then: the run may be trained further
            "steps": boundary.steps,
            "episodes": boundary.episodes,
            "mean_reward": boundary.mean_reward,
            "validations": self.record["validations"],
            "world_digest": self.facts.world_digest,
            "versions": self.record["versions"],
            "saved_at": now(),
            "only_to_resume": list(boundary.only_to_resume),
        }
