"""`mayavi train`: train a policy with RLlib or Stable-Baselines3."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayavi.cli.console.exit_codes import INTERRUPTED
from mayavi.cli.console.interruption import stopping
from mayavi.cli.console.output import print_json, print_note
from mayavi.cli.console.progress import activity, counted, duration
from mayavi.cli.rl.options import ModelsOption
from mayavi.cli.rl.train_options import (
    AlgorithmOption,
    ConfigOption,
    EnvOption,
    FrameworkOption,
    OverridesOption,
    RayOption,
    RecurrentOption,
    RemoteOption,
    ResumedRun,
    ResumeOption,
    SeedOption,
    SourceOption,
    TimestepsOption,
)
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.rl.config import TrainConfig
    from mayavi.rl.training.progress import TrainProgress
    from mayavi.rl.training.train import TrainedModel
    from mayavi.rl.training_runs.folder import RunFolder


def train(
    run: ResumedRun = None,
    env: EnvOption = None,
    framework: FrameworkOption = None,
    algorithm: AlgorithmOption = None,
    timesteps: TimestepsOption = None,
    seed: SeedOption = None,
    recurrent: RecurrentOption = False,
    overrides: OverridesOption = None,
    config: ConfigOption = None,
    source: SourceOption = None,
    remote: RemoteOption = None,
    resume: ResumeOption = False,
    ray: RayOption = None,
    models: ModelsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Train a policy with RLlib or Stable-Baselines3.

    Configuration, checkpoints and curves go to data/models/RUN_ID. `mayavi eval RUN_ID` evaluates the policy, and
    `mayavi train --resume` continues an interrupted training.
    """
    from mayavi.rl.training.backend import MODAL, chosen_backend
    from mayavi.rl.training_runs.folder import models_path

    if run is not None and not resume:
        raise UsageError(
            f"a new training takes no run, but '{run}' was given", f"`mayavi train --resume {run}` continues that run"
        )
    backend = chosen_backend(remote)
    place = models_path(models)
    given = {
        "env": env,
        "framework": framework,
        "algorithm": algorithm,
        "timesteps": timesteps,
        "seed": seed,
        "recurrent": recurrent or None,
        "source": source,
    }
    out = sys.stderr if as_json else sys.stdout

    def say(line: str) -> None:
        print(line, file=out, flush=True)

    if resume and run is not None and backend == MODAL:
        _fetch(run, place, say)
    folder = _unfinished(run, place) if resume else None
    options = {key: value for key, value in given.items() if value is not None}
    asked = _build_config(folder, config, options, overrides or [])
    if ray is not None and asked.framework != "rllib":
        raise UsageError("--ray needs RLlib; Stable-Baselines3 trains in this process", "leave --ray out")
    there = "" if models is None else f" --models {models}"
    resumed = None if folder is None else run if run and "/" in run else folder.run_id
    done = _train(backend, asked, place, resumed, ray=ray, say=say, there=there)
    if as_json:
        print_json(document(done))
        return
    for line in summary(done):
        print(f"  {line}")
    print_note(f"{done.run_id} · `mayavi eval {done.run_id}{there}` evaluates it")


def _train(
    backend: str,
    asked: TrainConfig,
    place: Path,
    resumed: str | None,
    *,
    ray: str | None,
    say: Callable[[str], None],
    there: str,
) -> TrainedModel:
    """Train with a progress bar. Ctrl-C says what is kept and how to continue, with the options `there`."""
    from mayavi.rl.training.backend import train_on
    from mayavi.rl.training_runs.folder import RunFolder

    started: list[str] = []

    def begun(run_id: str) -> None:
        # Printed as soon as the run exists, so that an interrupted user knows its id.
        started.append(run_id)
        say(heading(asked, run_id))

    try:
        with counted("training", "steps", eta=True) as advance, stopping() as stop:

            def progress(state: TrainProgress) -> None:
                advance(min(state.steps, state.timesteps), state.timesteps, state.note)
                stop()

            with activity("preparing"):
                _prepare(asked)
            return train_on(
                backend, asked, models=place, resume=resumed, progress=progress, ray=ray, begun=begun, say=say
            )
    except KeyboardInterrupt:
        if started:
            _print_interrupted(RunFolder(place / started[0]), asked.timesteps, there)
        raise typer.Exit(INTERRUPTED) from None


def _print_interrupted(folder: RunFolder, timesteps: int, there: str) -> None:
    """Say how much of an interrupted training is kept, and the command that continues it."""
    kept = [each.steps for each in folder.checkpoints()]
    steps = f"{kept[-1]:,} of {timesteps:,} steps are kept" if kept else "no checkpoint was made yet"
    print(f"interrupted: {steps} in run {folder.run_id}", file=sys.stderr)
    print(f"  `mayavi train --resume {folder.run_id}{there}` continues it", file=sys.stderr)


def _build_config(folder: Any, file: Path | None, given: dict[str, Any], overrides: list[str]) -> TrainConfig:
    """Training configuration: the file, overridden by named options, overridden by each --set."""
    from mayavi.rl.config import TrainConfig, check_choices, parse_settings, read_config
    from mayavi.rl.environments import env_settings

    layers: list[dict[str, Any]] = [folder.config().to_json()] if folder else []
    if file is not None:
        layers.append(read_config(file))
    layers.append(given)
    merged: dict[str, Any] = {}
    for layer in layers:
        merged |= layer
    check_choices(merged)
    if not merged.get("env"):
        raise UsageError("no environment given", "`mayavi train --env aave`; also aave-shock, compound, vesting …")
    name = str(merged["env"])
    settings = parse_settings(overrides, env_settings(name))
    return TrainConfig.of(*layers, settings)


def _unfinished(named: str | None, place: Path) -> Any:
    """Run to resume: the named one, or the last unfinished one."""
    from mayavi.rl.training_runs.folder import FINISHED, find_run, list_runs

    if named is not None:
        return find_run(named, place)
    for each in reversed(list_runs(place)):
        if each.read()["status"] != FINISHED and not each.is_held():
            return each
    raise UsageError(
        f"no unfinished training in '{place}'",
        "`mayavi train --resume RUN --timesteps N` trains a finished one further",
    )


def _fetch(run: str, place: Path, say: Callable[[str], None]) -> None:
    """Download a run that is newer on Modal or missing here. Anything but a full run id is a local name."""
    from mayavi.rl.modal.training import fetch_run
    from mayavi.runs.run_id import check_id

    try:
        check_id(run)
    except UsageError:
        return
    fetch_run(run, place, say=say)


def _prepare(asked: TrainConfig) -> None:
    """Build the replica first, with a progress message, because that may take a while."""
    from mayavi.cli.run import open_with_progress
    from mayavi.rl.environments import needs_chain, world_of

    if not needs_chain(asked):
        return
    chain = str(asked.env_config.get("chain", "ethereum"))
    world = world_of(asked)
    if world.kind == "replica":
        open_with_progress(world.on(chain))


def heading(config: TrainConfig, run_id: str) -> str:
    """One line that describes the training."""
    memory = " with memory" if config.recurrent else ""
    how = f"{config.framework} {config.algorithm}{memory}"
    return f"run {run_id} · {config.env} · {how} · seed {config.seed} · {config.timesteps:,} steps"


def summary(done: TrainedModel) -> list[str]:
    """Lines that summarise a finished training."""
    pace = f"{done.steps / done.seconds:,.0f} steps a second" if done.seconds else ""
    lines = [f"{done.steps:,} steps, {done.episodes:,} episodes in {duration(done.seconds)} on {done.device}, {pace}"]
    if done.resumed_from is not None:
        exact = "with the same result as without the interruption" if done.exact else f"not exactly: {done.reason}"
        lines.append(f"resumed at step {done.resumed_from:,}, {exact}")
    if done.mean_reward is not None:
        lines.append(f"mean reward of the last episodes {done.mean_reward:.6g}")
    if done.best is not None:
        best, steps = done.best["mean_reward"], done.best["steps"]
        lines.append(f"best on the validation split {best:.6g}, after {steps:,} steps: {done.run_id}:best")
    lines.append(f"kept in {done.path}; `tensorboard --logdir {done.path / 'logs'}` shows the curves")
    return lines


def document(done: TrainedModel) -> dict[str, object]:
    """The JSON object of a training."""
    return {
        "run_id": done.run_id,
        "path": str(done.path),
        "config": done.config.to_json(),
        "steps": done.steps,
        "episodes": done.episodes,
        "mean_reward": done.mean_reward,
        "seconds": done.seconds,
        "device": done.device,
        "resumed_from": done.resumed_from,
        "exact": done.exact,
        "best": done.best,
    }
