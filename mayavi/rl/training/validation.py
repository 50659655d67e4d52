"""Evaluations while a training goes on: the policy of now on the validation split, and the best of them kept.

What is evaluated was saved and loaded first, so that it is what `open_model` gives later; generators are left as they
were, so that a training with evaluations ends with the weights of one without.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.rl.config import TrainConfig
from mayavi.rl.training.checkpoints import PARTIAL, Checkpoint, lighten, move_checkpoint, write_checkpoint
from mayavi.rl.training.run_folder import RunFolder

if TYPE_CHECKING:
    from mayavi.gym_env.rows import RowsEnv

ROWS = 128
SPLIT = "validation"

Validation = Mapping[str, Any]
"""`steps`, `episodes`, and of their rewards `mean_reward` and `std_reward`, as run.json has it."""


class Validator:
    """Evaluates a training on the same episodes of the validation split again and again."""

    def __init__(self, folder: RunFolder, config: TrainConfig, steps: int) -> None:
        self.folder, self.config = folder, config
        self._at = steps
        self._env: RowsEnv[Any] | None = None

    def due(self, steps: int) -> bool:
        """Whether a multiple of `evaluate_every` was passed since this was last asked."""
        every = self.config.evaluate_every or 1
        before, self._at = self._at, steps
        return steps // every > before // every

    def judge(
        self, before: Sequence[Validation], facts: Mapping[str, Any], save: Callable[[Path], None]
    ) -> list[Validation]:
        """Evaluate the policy that `save` writes: `before` and this. Where it is the best of them, `best/` is it."""
        found = write_checkpoint(self.folder.path / f"evaluated{PARTIAL}", facts, save)
        told = self._played(found)
        earlier = [each for each in before if each["steps"] < told["steps"]]
        validations = [*earlier, told]
        if best_of(validations) is told:
            move_checkpoint(lighten(found), self.folder.best_path)
        else:
            shutil.rmtree(found.path)
        return validations

    def _played(self, checkpoint: Checkpoint) -> Validation:
        from mayavi.gym_env import make_rows
        from mayavi.rl.environments import world_of
        from mayavi.rl.evaluation.play import play
        from mayavi.rl.models import load_policy
        from mayavi.rl.training import global_rng

        config = self.config
        if self._env is None:
            told = {**config.env_config, "split": SPLIT}
            self._env = make_rows(config.env, min(config.evaluate_episodes, ROWS), config=told, world=world_of(config))
        with global_rng.kept():
            played = play(self._env, load_policy(config, checkpoint), range(config.evaluate_episodes))
        return {
            "steps": checkpoint.steps,
            "episodes": config.evaluate_episodes,
            "mean_reward": float(played.rewards.mean()),
            "std_reward": float(played.rewards.std()),
        }


def best_of(validations: Sequence[Validation]) -> Validation | None:
    """The one with the highest mean, the first of equals; None where there is none."""
    return max(validations, key=lambda each: float(each["mean_reward"]), default=None)
