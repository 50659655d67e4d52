"""`mayavi trainings`: list, show, compare and remove stored trainings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.group import command_group
from mayavi.cli.console.output import print_json, print_note
from mayavi.cli.rl.options import ModelsOption
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.rl.training_runs.catalogue import Training

app = command_group("Stored trainings: list, show, diff, rm.")

TrainingArgument = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A training run id, a unique beginning or end of one, `latest`, or its folder."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

SHOWN = 20
STATUSES = ("training", "finished", "interrupted", "failed", "damaged")


@app.command("list")
def list_command(
    env: Annotated[str | None, typer.Option("--env", help="Only trainings of this environment.")] = None,
    status: Annotated[
        str | None,
        typer.Option("--status", help="Only trainings that are training, finished, interrupted, failed or damaged."),
    ] = None,
    show_all: Annotated[bool, typer.Option("--all", help=f"Show every training, not only {SHOWN}.")] = False,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the trainings, newest first."""
    from mayavi.cli.printing.trainings import print_trainings
    from mayavi.rl.training_runs.catalogue import list_trainings

    if status is not None and status not in STATUSES:
        from mayavi.errors import UnknownName

        raise UnknownName.of("status", status, STATUSES, f"a training is {', '.join(STATUSES)}")
    place = _folder(models)
    found = [
        each
        for each in list_trainings(place)
        if (status is None or each.status == status) and (env is None or each.config.get("env") == env)
    ]
    if as_json:
        print_json({"models": str(place), "trainings": [each.summary() for each in found]})
        return
    if not found:
        print_note(
            f"no such training in '{place}'"
            if env or status
            else f"no trainings in '{place}' yet: `mayavi train --env aave` makes one"
        )
        return
    shown = found if show_all else found[:SHOWN]
    print_trainings(shown)
    for each in shown:
        _print_score_note(each)
    if len(found) > len(shown):
        print_note(f"… {len(found) - len(shown):,} older, `--all` shows them")


@app.command("show", short_help="Show settings, environment, checkpoints and results of a training.")
def show(run: TrainingArgument, models: ModelsOption = None, as_json: JsonOption = False) -> None:
    """Show a training: settings, environment, versions, checkpoints, results, and the command that continues it."""
    from mayavi.cli.printing.trainings import print_training, training_document

    found = _find(run, models)
    if as_json:
        print_json(training_document(found, models))
    else:
        print_training(found, models)
        _print_score_note(found)


@app.command("diff")
def diff(
    before: Annotated[str, typer.Argument(metavar="RUN", help="A training.")],
    after: Annotated[str, typer.Argument(metavar="OTHER", help="The training to compare with it.")],
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two trainings: settings, versions and results that differ.

    Exit code 0 when nothing differs, 1 when something does, 2 when there is no such training.
    """
    from mayavi.cli.printing.trainings import print_training_diff
    from mayavi.rl.training_runs.comparison import compare_trainings

    one, other = _find(before, models), _find(after, models)
    for each in (one, other):
        if not each.config:
            raise UsageError(f"training {each.run_id} is damaged: {each.problem}", "compare one that can be read")
    found = compare_trainings(one, other)
    if as_json:
        print_json(found.to_json())
    else:
        print_training_diff(found)
    if not found.equal:
        raise typer.Exit(1)


@app.command("rm")
def remove(
    run: Annotated[list[str], typer.Argument(metavar="RUN…", help="Training run ids, or unique parts of them.")],
    yes: Annotated[bool, typer.Option("--yes", help="Remove without asking.")] = False,
    models: ModelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove trainings with their checkpoints and evaluations. A running training cannot be removed."""
    from mayavi.cli.printing.trainings import describe_training
    from mayavi.rl.training_runs.catalogue import remove_trainings

    named = {each.folder.path.absolute(): each for each in (_find(one, models) for one in run)}
    found = list(named.values())
    many = f"{len(found):,} training{'' if len(found) == 1 else 's'}"
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(f"removing {many} has to be confirmed, and there is no terminal to ask", "add --yes")
        for each in found:
            print(f"  {describe_training(each)}", file=sys.stderr)
        if not typer.confirm(f"remove {many} with all checkpoints and evaluations?", err=True):
            raise typer.Abort
    remove_trainings(found)
    if as_json:
        print_json({"removed": [each.run_id for each in found]})
    else:
        print(f"removed {many}")


def _print_score_note(training: Training) -> None:
    from mayavi.rl.training_runs.catalogue import score_note

    if note := score_note(training):
        print_note(note)


def _folder(models: Path | None) -> Path:
    from mayavi.rl.training_runs.folder import models_path

    place = models_path(models)
    if place.exists() and not place.is_dir():
        raise UsageError(f"'{place}' is not a folder", "name the folder of trainings: `--models FOLDER`")
    if models is not None and not place.is_dir():
        raise UsageError(f"there is no folder '{place}'", "name the folder of trainings: `--models FOLDER`")
    return place


def _find(named: str, models: Path | None) -> Training:
    from mayavi.rl.training_runs.catalogue import find_training

    return find_training(named, _folder(models))
