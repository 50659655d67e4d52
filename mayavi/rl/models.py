"""`open_model`: a trained policy by its run, whatever trained it.

model = open_model("latest", Path("data/models"))
policy, env = model.policy(), model.make_env(32, split="test")
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.errors import CheckpointError, ModelMismatch, UsageError
from mayavi.rl.config import TrainConfig
from mayavi.rl.training.checkpoints import Checkpoint, read_checkpoint, told
from mayavi.rl.training.run_folder import BEST, RunFolder, find_run, models_path

if TYPE_CHECKING:
    from mayavi.gym_env.rows import RowsEnv
    from mayavi.rl.policy import Policy
    from mayavi.worlds.source import WorldSource


class Model:
    """A training run and its checkpoints. `chosen` is the checkpoint that `policy()` takes: the last by default."""

    def __init__(self, folder: RunFolder, chosen: Checkpoint | None = None) -> None:
        self.folder, self.chosen = folder, chosen

    @cached_property
    def record(self) -> dict[str, Any]:
        """All that is known of the run: `run.json`."""
        return self.folder.read()

    @cached_property
    def config(self) -> TrainConfig:
        """What was trained."""
        return TrainConfig.of(self.record["config"])

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.folder.run_id

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.folder.path

    @property
    def env_name(self) -> str:
        """The environment, by its name."""
        return str(self.record["env"])

    def checkpoints(self) -> list[Checkpoint]:
        """All checkpoints, by their steps; `final` last where the training is finished."""
        return self.folder.checkpoints()

    def checkpoint(self, named: str | int | Checkpoint | None = None) -> Checkpoint:
        """The checkpoint after that many steps, `final`, `best`, or by default the chosen or the last one."""
        if isinstance(named, Checkpoint):
            return named
        if named is None and self.chosen is not None:
            return self.chosen
        if named == BEST:
            return self._best()
        found = self.checkpoints()
        if not found:
            raise CheckpointError(
                f"run {self.run_id} has no checkpoint yet", "wait for the first, or train with checkpoint_every_s=10"
            )
        if named is None:
            return found[-1]
        for each in found:
            if str(named) in {each.name, str(each.steps)}:
                return each
        names = [each.name for each in found] + [BEST] * self.folder.best_path.is_dir()
        raise UsageError(f"run {self.run_id} has no checkpoint '{named}'", f"it has {', '.join(names)}")

    def _best(self) -> Checkpoint:
        """The one that did best on the validation split."""
        if not self.folder.best_path.is_dir():
            raise UsageError(
                f"run {self.run_id} was not evaluated while it was trained, so no checkpoint is its best",
                f"train with `--set evaluate_every=N`, or look at all: `mayavi eval {self.run_id} --split validation "
                "--checkpoints all`",
            )
        return read_checkpoint(self.folder.best_path, whole=False)

    def policy(self, checkpoint: str | int | Checkpoint | None = None, *, role: str | None = None) -> Policy:
        """The policy of a checkpoint, ready to act on the CPU. `role` names one of a market's."""
        from mayavi.rl.training import global_rng

        found = read_checkpoint(self.checkpoint(checkpoint).path)
        self._check_own(found)
        with global_rng.kept():  # loading seeds the global generators
            return load_policy(self.config, found, role)

    def make_env(self, rows: int = 1, *, world: WorldSource | None = None, **settings: Any) -> RowsEnv[Any]:
        """The environment as it was trained on; `settings` change single values, such as `split`."""
        from mayavi.gym_env import make_rows
        from mayavi.rl.environments import world_of

        env = make_rows(
            self.env_name, rows, config=self.config.env_config, world=world or world_of(self.config), **settings
        )
        self.check_fits(env)
        return env

    def check_fits(self, env: RowsEnv[Any]) -> None:
        """`ModelMismatch` where `env` is another environment, or shows or takes something else."""
        if env.name != self.env_name:
            raise ModelMismatch(
                f"run {self.run_id} was trained on '{self.env_name}', not on '{env.name}'",
                f"evaluate it there, or train one: mayavi train --env {env.name}",
            )
        from mayavi.rl.environments import facts_of

        here = facts_of(env).to_json()
        for verb, name in (("observes", "observation_space"), ("does", "action_space")):
            trained, given = self.record[name], here[name]
            if trained != given:
                other = " with other bounds" if told(trained) == told(given) else ""
                raise ModelMismatch(
                    f"run {self.run_id} was trained on another {name.replace('_', ' ')}: it {verb} {told(trained)}, "
                    f"and this environment has {told(given)}{other}",
                    "its settings are in run.json under config.env_config; a newer mayavi may have changed the "
                    "environment, then train again",
                )

    def _check_own(self, found: Checkpoint) -> None:
        """`ModelMismatch` where a checkpoint was put into a run it does not belong to."""
        for key, own in (
            ("env", self.env_name),
            ("framework", self.config.framework),
            ("algorithm", self.config.algorithm),
            ("recurrent", self.config.recurrent),
            ("observation_space", self.record["observation_space"]),
            ("action_space", self.record["action_space"]),
        ):
            if found.facts.get(key) != own:
                shown = (told(each) if isinstance(each, dict) else each for each in (found.facts.get(key), own))
                theirs, ours = shown
                raise ModelMismatch(
                    f"checkpoint {found.name} has the {key.replace('_', ' ')} '{theirs}', and run {self.run_id} "
                    f"the {key.replace('_', ' ')} '{ours}'",
                    "it belongs to another run",
                )


def load_policy(config: TrainConfig, checkpoint: Checkpoint, role: str | None = None) -> Policy:
    """The policy of a checkpoint, on the CPU, with the statistics it sees through. Loading seeds global generators."""
    if config.framework == "sb3":
        from mayavi.rl.sb3.policy import load_sb3_policy

        policy = load_sb3_policy(config, checkpoint)
    else:
        from mayavi.rl.rllib.policy import load_rllib_policy

        policy = load_rllib_policy(config, checkpoint, role)
    if config.normalises:
        from mayavi.rl.training.normaliser import Normaliser

        policy.normaliser = Normaliser.read(checkpoint.path)
    return policy


def open_model(named: str | Path, models: Path | None = None) -> Model:
    """The model of a run (its id, the beginning or end of it, `latest`, its folder), or of a checkpoint (its folder,
    RUN:STEP, RUN:final, RUN:best)."""
    path = Path(named)
    if (path / "checkpoint.json").is_file():
        owner = path.parent if path.name in {"final", BEST} else path.parent.parent
        return Model(find_run(str(owner.absolute()), models_path(models)), read_checkpoint(path))
    run, colon, step = str(named).rpartition(":")
    if colon and step and not path.exists():
        model = Model(find_run(run, models_path(models)))
        return Model(model.folder, model.checkpoint(step))
    return Model(find_run(str(named), models_path(models)))
