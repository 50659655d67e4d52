"""`mayavi train`: train a policy with RLlib, Stable-Baselines3 or our own PPO."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayavi.cli.console.exit_codes import INTERRUPTED
from mayavi.cli.console.interruption import stopping
from mayavi.cli.console.output import print_json, print_note
from mayavi.cli.console.progress import activity, counted, in_parts
from mayavi.cli.printing.specialise import SpecialiseOption, StatsOption, print_statistics
from mayavi.cli.rl.options import ModelsOption
from mayavi.cli.rl.train_options import (
    AlgorithmOption,
    ConfigOption,
    DeviceOption,
    EnvOption,
    EvalOption,
    FrameworkOption,
    GridOption,
    JobsOption,
    OverridesOption,
    RayOption,
    RecurrentOption,
    RemoteOption,
    ResumedRun,
    ResumeOption,
    RolloutsOption,
    SeedOption,
    SeedsOption,
    SourceOption,
    TimestepsOption,
)
from mayavi.cli.rl.train_output import document, heading, summary
from mayavi.errors import MayaviError, UsageError

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
    device: DeviceOption = None,
    overrides: OverridesOption = None,
    config: ConfigOption = None,
    source: SourceOption = None,
    rollouts: RolloutsOption = None,
    remote: RemoteOption = None,
    resume: ResumeOption = False,
    evaluate: EvalOption = True,
    grid: GridOption = None,
    seeds: SeedsOption = None,
    jobs: JobsOption = None,
    ray: RayOption = None,
    models: ModelsOption = None,
    specialise: SpecialiseOption = None,
    stats: StatsOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Train a policy with RLlib, Stable-Baselines3 or our own PPO.

    Configuration, checkpoints and curves go to data/models/RUN_ID. At the end the policy is evaluated on the test
    split. `mayavi train --resume` continues an interrupted training. With --grid or --seeds several trainings are made,
    and the best settings are chosen on the validation split; the same command continues an interrupted grid.
    """
    from mayavi.evm.specialise import specialised
    from mayavi.rl.training.backend import MODAL, chosen_backend
    from mayavi.rl.training_runs.folder import models_path

    if run is not None and not resume:
        raise UsageError(
            f"a new training takes no run, but '{run}' was given",
            f"`mayavi train --resume {run}{'' if models is None else f' --models {models}'}` continues that run",
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
        "device": device,
        "source": source,
        "rollouts": None if rollouts is None else str(rollouts),
    }
    out = sys.stderr if as_json else sys.stdout

    def say(line: str) -> None:
        print(line, file=out, flush=True)

    options = {key: value for key, value in given.items() if value is not None}
    if grid or seeds is not None:
        from mayavi.cli.rl.train_grid import GridCommand, train_grid_command

        _refuse_beside_grid(resume=resume, seed=seed, seeds=seeds)
        layers = _layers(None, config, options, overrides or [])
        command = GridCommand(layers, grid or [], seeds, jobs, ray, backend, place, evaluate, as_json, specialise)
        train_grid_command(command, say, _prepare)
        return
    if jobs is not None:
        raise UsageError("--jobs needs several trainings", "give --grid or --seeds, or leave --jobs out")
    if resume and run is not None and backend == MODAL:
        _fetch(run, place, say)
    folder = _unfinished(run, place) if resume else None
    asked = _build_config(folder, config, options, overrides or [])
    if ray is not None and asked.framework != "rllib":
        from mayavi.rl.config import TITLES

        raise UsageError(f"--ray needs RLlib; {TITLES[asked.framework]} trains in this process", "leave --ray out")
    there = "" if models is None else f" --models {models}"
    if folder is not None:  # a resumed run may be named by its folder
        there = folder.models_option
    resumed = None if folder is None else run if run and "/" in run else folder.run_id
    with specialised(specialise):
        done = _train(backend, asked, place, resumed, ray=ray, say=say, there=there)
        _conclude(done, there, evaluate=evaluate and asked.test_episodes > 0, as_json=as_json, stats=stats)


def _conclude(done: TrainedModel, there: str, *, evaluate: bool, as_json: bool, stats: bool) -> None:
    """Print the summary of a training, evaluate it, and print the evaluation."""
    if not as_json:
        for line in summary(done):
            print(f"  {line}")
        if stats:
            print_statistics(done.record.get("specialise", {}))
    evaluated = _evaluate(done, there) if evaluate else None
    if as_json:
        print_json(document(done, evaluated))
        return
    if evaluated is None:
        print_note(f"{done.run_id} · `mayavi eval {done.run_id}{there}` evaluates it")
        return
    from mayavi.cli.printing.evaluation import print_evaluation

    print_evaluation(evaluated[0])
    print_note(f"written to {evaluated[1]}")
    run = f"{done.run_id}{there}"
    print_note(f"{done.run_id} · `mayavi artifact {run}` bundles it, `mayavi report {run}` shows it")


def _evaluate(done: TrainedModel, there: str) -> tuple[dict[str, Any], Path]:
    """Evaluate the finished training. If that fails or is interrupted, say that the training is kept."""
    from mayavi.rl.training_runs.folder import RunFolder

    try:
        from mayavi.rl.evaluation.after_training import evaluate_training
        from mayavi.rl.models import open_model

        with in_parts() as say:
            return evaluate_training(open_model(done.path), say=say)
    except (MayaviError, KeyboardInterrupt) as error:
        _print_unevaluated(RunFolder(done.path), there)
        if isinstance(error, KeyboardInterrupt):
            raise typer.Exit(INTERRUPTED) from None
        raise


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
            done = train_on(
                backend, asked, models=place, resume=resumed, progress=progress, ray=ray, begun=begun, say=say
            )
            stop()  # for a Ctrl-C since the last rollout
            return done
    except KeyboardInterrupt:
        if started:
            path = Path(resumed) if resumed is not None and "/" in resumed else place / started[0]
            _print_interrupted(RunFolder(path), asked.timesteps, there)
        raise typer.Exit(INTERRUPTED) from None


def _print_interrupted(folder: RunFolder, timesteps: int, there: str) -> None:
    """Say how much of an interrupted training is kept, and the command that continues or evaluates it."""
    if _is_trained(folder, timesteps):
        _print_unevaluated(folder, there)
        return
    kept = [each.steps for each in folder.checkpoints()]
    steps = f"{kept[-1]:,} of {timesteps:,} steps are kept" if kept else "no checkpoint was made yet"
    print(f"interrupted: {steps} in run {folder.run_id}", file=sys.stderr)
    print(f"  `mayavi train --resume {folder.run_id}{there}` continues it", file=sys.stderr)


def _is_trained(folder: RunFolder, timesteps: int) -> bool:
    """Whether `timesteps` are trained and kept; of a training on Modal there may be no record here yet."""
    from mayavi.rl.training_runs.folder import FINISHED, RECORD

    if not (folder.path / RECORD).is_file():
        return False
    record = folder.read()
    return record["status"] == FINISHED and int(record["steps"]) >= timesteps


def _print_unevaluated(folder: RunFolder, there: str) -> None:
    """Say that the training is finished and kept, and the command that evaluates it."""
    print(f"the training is finished and kept in {folder.path}, without an evaluation", file=sys.stderr)
    print(f"  `mayavi eval {folder.run_id}{there}` evaluates it", file=sys.stderr)


def _refuse_beside_grid(*, resume: bool, seed: int | None, seeds: str | None) -> None:
    if resume:
        raise UsageError("a grid takes no --resume", "the same command continues an interrupted grid")
    if seed is not None and seeds is not None:
        raise UsageError("--seed and --seeds are both given", "give all of them with --seeds")


def _build_config(folder: Any, file: Path | None, given: dict[str, Any], overrides: list[str]) -> TrainConfig:
    """Training configuration: the file, overridden by named options, overridden by each --set."""
    from mayavi.rl.config import TrainConfig

    return TrainConfig.of(*_layers(folder, file, given, overrides))


def _layers(folder: Any, file: Path | None, given: dict[str, Any], overrides: list[str]) -> list[dict[str, Any]]:
    """Layers of a training configuration: the resumed run, the file, named options, each --set."""
    from mayavi.rl.config import check_choices, parse_settings, read_config
    from mayavi.rl.environments import env_settings

    layers: list[dict[str, Any]] = [folder.config().to_json()] if folder else []
    read = read_config(file) if file is not None else {}
    layers += [read] if file is not None else []
    layers.append(given)
    if folder is None and (recorded := _recorded_layer({**read, **given})):
        layers.insert(0, recorded)
    merged: dict[str, Any] = {}
    for layer in layers:
        merged |= layer
    check_choices(merged)
    if not merged.get("env"):
        raise UsageError("no environment given", "`mayavi train --env aave`; also aave-shock, compound, vesting …")
    name = str(merged["env"])
    settings = parse_settings(overrides, env_settings(name))
    return [*layers, settings]


def _recorded_layer(given: dict[str, Any]) -> dict[str, Any]:
    """Environment of recorded rollouts, unless another one is asked for, which is refused later."""
    if not given.get("rollouts"):
        return {}
    from mayavi.rl.rollouts.fitting import rollouts_layer

    found = rollouts_layer(Path(given["rollouts"]))
    return found if given.get("env") in (None, found["env"]) else {}


def _unfinished(named: str | None, place: Path) -> Any:
    """Run to resume: the named one, or the last unfinished one. A failed run must be named: it may fail again."""
    from mayavi.rl.training_runs.folder import FAILED, FINISHED, RunFolder, find_run, list_runs

    if named is not None:
        return find_run(named, place)
    failed, there = "", RunFolder(place / "RUN").models_option
    for each in reversed(list_runs(place)):
        status = each.read()["status"]
        if status == FAILED:
            failed = failed or each.run_id
        elif status != FINISHED and not each.is_held():
            return each
    hint = f"`mayavi train --resume RUN{there} --timesteps N` trains a finished one further"
    if failed:
        hint = f"the newest failed one goes on with `mayavi train --resume {failed}{there}`; {hint}"
    raise UsageError(f"no interrupted training in '{place}'", hint)


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
