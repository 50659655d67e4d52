"""`open_model`: open a training run and load its policies.

```python
model = open_model("latest", Path("data/models"))
policy, env = model.policy(), model.make_env(32, split="test")
```
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.errors import CheckpointError, ModelMismatch, UsageError
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import facts_of, world_of
from mayavi.rl.policy_loading import load_policy
from mayavi.rl.spaces import describe_space
from mayavi.rl.training import global_rng
from mayavi.rl.training_runs.checkpoints import MANIFEST, Checkpoint, read_checkpoint
from mayavi.rl.training_runs.folder import BEST, FAILED, INTERRUPTED, RunFolder, find_run, models_path

if TYPE_CHECKING:
    from mayavi.gym_env.rows import RowsEnv
    from mayavi.rl.policy import Policy
    from mayavi.worlds.source import WorldSource


class Model:
    """Training run and its checkpoints. `policy()` loads the checkpoint `chosen`, by default the last one."""

    def __init__(self, folder: RunFolder, chosen: Checkpoint | None = None) -> None:
        self.folder, self.chosen = folder, chosen

    @cached_property
    def record(self) -> dict[str, Any]:
        """Contents of `run.json`."""
        return self.folder.read()

    @cached_property
    def config(self) -> TrainConfig:
        """Configuration of the training."""
        return TrainConfig.of(self.record["config"])

    @property
    def run_id(self) -> str:
        """Id of the run."""
        return self.folder.run_id

    @property
    def path(self) -> Path:
        """Folder of the run."""
        return self.folder.path

    @property
    def env_name(self) -> str:
        """Name of the environment."""
        return str(self.record["env"])

    def checkpoints(self) -> list[Checkpoint]:
        """Checkpoints sorted by steps; `final` last, if the training is finished."""
        return self.folder.checkpoints()

    def checkpoint(self, named: str | int | Checkpoint | None = None) -> Checkpoint:
        """Checkpoint by its number of steps, `final` or `best`; by default the chosen one, else the last.

        Raises `CheckpointError` if there is none yet, `UsageError` for an unknown name.
        """
        if isinstance(named, Checkpoint):
            return named
        if named is None and self.chosen is not None:
            return self.chosen
        if named == BEST:
            return self._best()
        found = self.checkpoints()
        if not found:
            raise self._no_checkpoint()
        if named is None:
            return found[-1]
        for each in found:
            if str(named) in {each.name, str(each.steps)}:
                return each
        names = [each.name for each in found] + [BEST] * self.folder.best_path.is_dir()
        raise UsageError(f"run {self.run_id} has no checkpoint '{named}'", f"it has {', '.join(names)}")

    def _no_checkpoint(self) -> CheckpointError:
        """Error for a training without checkpoints, by its status."""
        status = self.folder.read()["status"]  # as it is now: a training goes on while its record is kept here
        if status in {FAILED, INTERRUPTED}:
            how = "failed" if status == FAILED else "was interrupted"
            return CheckpointError(
                f"run {self.run_id} has no checkpoint: its training {how} before the first",
                f"`mayavi train --resume {self.run_id}{self.folder.models_option}` begins it again, or train a new one",
            )
        return CheckpointError(
            f"run {self.run_id} has no checkpoint yet", "wait for the first, or train with checkpoint_every_s=10"
        )

    def policy(self, checkpoint: str | int | Checkpoint | None = None, *, role: str | None = None) -> Policy:
        """Load the policy of a checkpoint on the CPU. `role` names one of a market's."""
        found = read_checkpoint(self.checkpoint(checkpoint).path)
        self._check_belongs(found)
        with global_rng.preserved():  # loading seeds the global generators
            return load_policy(self.config, found, role)

    def make_env(self, rows: int = 1, *, world: WorldSource | None = None, **settings: Any) -> RowsEnv[Any]:
        """Make the environment of the training; `settings` change single values, such as `split`."""
        from mayavi.gym_env import make_rows

        env = make_rows(
            self.env_name, rows, config=self.config.env_config, world=world or world_of(self.config), **settings
        )
        self.check_fits(env)
        return env

    def check_fits(self, env: RowsEnv[Any]) -> None:
        """Raise `ModelMismatch` if `env` is another environment or has other spaces than the training."""
        if env.name != self.env_name:
            raise ModelMismatch(
                f"run {self.run_id} was trained on '{self.env_name}', not on '{env.name}'",
                f"evaluate it there, or train one: mayavi train --env {env.name}",
            )
        given = facts_of(env).to_json()
        for verb, name in (("observes", "observation_space"), ("does", "action_space")):
            if self.record[name] != given[name]:
                own, other = describe_space(self.record[name]), describe_space(given[name])
                bounds = " with other bounds" if own == other else ""
                raise ModelMismatch(
                    f"run {self.run_id} was trained on another {name.replace('_', ' ')}: it {verb} {own}, "
                    f"and this environment has {other}{bounds}",
                    "its settings are in run.json under config.env_config; a newer mayavi may have changed the "
                    "environment, then train again",
                )

    def _best(self) -> Checkpoint:
        """Checkpoint with the highest mean reward on the validation split."""
        if not self.folder.best_path.is_dir():
            raise UsageError(
                f"run {self.run_id} was not evaluated while it was trained, so it has no best checkpoint",
                f"train with `--set evaluate_every=N`, or evaluate all checkpoints: `mayavi eval {self.run_id} "
                "--split validation --checkpoints all`",
            )
        return read_checkpoint(self.folder.best_path, whole=False)

    def _check_belongs(self, found: Checkpoint) -> None:
        """Raise `ModelMismatch` if a checkpoint does not belong to this run."""
        for key, own in (
            ("env", self.env_name),
            ("framework", self.config.framework),
            ("algorithm", self.config.algorithm),
            ("recurrent", self.config.recurrent),
            ("observation_space", self.record["observation_space"]),
            ("action_space", self.record["action_space"]),
        ):
            other = found.facts.get(key)
            if other != own:
                name = key.replace("_", " ")
                raise ModelMismatch(
                    f"checkpoint {found.name} has the {name} '{_describe(other)}', and run {self.run_id} "
                    f"the {name} '{_describe(own)}'",
                    "it belongs to another run",
                )


def open_model(named: str | Path, models: Path | None = None) -> Model:
    """Open a run (its id, the start or end of the id, `latest`, its folder) or a checkpoint (its folder, RUN:STEP,
    RUN:final, RUN:best)."""
    path = Path(named)
    if (path / MANIFEST).is_file():
        owner = path.parent if path.name in {"final", BEST} else path.parent.parent
        return Model(find_run(str(owner.absolute()), models_path(models)), read_checkpoint(path))
    run, colon, step = str(named).rpartition(":")
    if colon and step and not path.exists():
        model = Model(find_run(run, models_path(models)))
        return Model(model.folder, model.checkpoint(step))
    return Model(find_run(str(named), models_path(models)))


def _describe(value: Any) -> Any:
    return describe_space(value) if isinstance(value, dict) else value
