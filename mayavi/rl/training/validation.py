"""Evaluate a training on the validation split while it runs, and keep the best policy.

Policies are saved and loaded before they are evaluated, so they play exactly as `open_model` loads them later. Global
random generators are preserved, so evaluations do not change the trained weights.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import world_of
from mayavi.rl.policy_loading import load_policy
from mayavi.rl.training import global_rng
from mayavi.rl.training_runs.atomic_files import PARTIAL
from mayavi.rl.training_runs.checkpoints import Checkpoint, drop_resume_files, move_checkpoint, write_checkpoint
from mayavi.rl.training_runs.folder import RunFolder

if TYPE_CHECKING:
    from mayavi.gym_env.rows import RowsEnv

ROWS = 128
SPLIT = "validation"

Validation = Mapping[str, Any]
"""Entry of `run.json`: `steps`, `episodes`, and `mean_reward` and `std_reward` over those episodes."""


class Validator:
    """Evaluates a training repeatedly on the same validation episodes."""

    def __init__(self, folder: RunFolder, config: TrainConfig, steps: int) -> None:
        self.folder, self.config = folder, config
        self._last_steps = steps
        self._env: RowsEnv[Any] | None = None

    def due(self, steps: int) -> bool:
        """Whether a multiple of `evaluate_every` was passed since the last call."""
        every = self.config.evaluate_every or 1
        before, self._last_steps = self._last_steps, steps
        return steps // every > before // every

    def validate(
        self, before: Sequence[Validation], facts: Mapping[str, Any], save: Callable[[Path], None]
    ) -> list[Validation]:
        """Evaluate the policy that `save` writes, and replace `best/` if it is the best so far.

        Returns the validations of `before` at fewer steps, followed by this one.
        """
        checkpoint = write_checkpoint(self.folder.path / f"evaluated{PARTIAL}", facts, save)
        current = self._evaluate(checkpoint)
        validations = [*(each for each in before if each["steps"] < current["steps"]), current]
        if best_of(validations) is current:
            move_checkpoint(drop_resume_files(checkpoint), self.folder.best_path)
        else:
            shutil.rmtree(checkpoint.path)
        return validations

    def _evaluate(self, checkpoint: Checkpoint) -> Validation:
        from mayavi.gym_env import make_rows
        from mayavi.rl.evaluation.play import play

        config = self.config
        if self._env is None:
            settings = {**config.env_config, "split": SPLIT}
            rows = min(config.evaluate_episodes, ROWS)
            self._env = make_rows(config.env, rows, config=settings, world=world_of(config))
        with global_rng.preserved():
            played = play(self._env, load_policy(config, checkpoint), range(config.evaluate_episodes))
        return {
            "steps": checkpoint.steps,
            "episodes": config.evaluate_episodes,
            "mean_reward": float(played.rewards.mean()),
            "std_reward": float(played.rewards.std()),
        }


def best_of(validations: Sequence[Validation]) -> Validation | None:
    """Validation with the highest mean reward, the first among equals; None without any."""
    return max(validations, key=lambda each: float(each["mean_reward"]), default=None)
