"""`mayavi train --grid … --seeds …`: several trainings, one table, and the best settings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mayavi.cli.console.exit_codes import FAILURE, INTERRUPTED
from mayavi.cli.console.output import Column, print_json, print_note, print_table
from mayavi.cli.console.progress import activity, counted, in_parts
from mayavi.cli.rl.train_output import evaluation_summary
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.rl.config import TrainConfig
    from mayavi.rl.grid.plan import GridPlan
    from mayavi.rl.grid.result import GridResult, PointResult
    from mayavi.statistics.estimate import Estimate


@dataclass(frozen=True, slots=True)
class GridCommand:
    """Options of the command."""

    layers: list[dict[str, Any]]
    grid: list[str]
    seeds: str | None
    jobs: int | None
    ray: str | None
    backend: str
    models: Path
    evaluate: bool
    as_json: bool
    specialise: str | None = None


def train_grid_command(
    command: GridCommand, say: Callable[[str], None], prepare: Callable[[TrainConfig], None]
) -> None:
    """Plan and train the grid, print its table, and evaluate the best settings on the test split."""
    from mayavi.evm.specialise import specialised

    with specialised(command.specialise):
        _train_and_print(command, say, prepare)


def _train_and_print(command: GridCommand, say: Callable[[str], None], prepare: Callable[[TrainConfig], None]) -> None:
    from mayavi.rl.grid.plan import plan_grid
    from mayavi.rl.grid.train_grid import evaluate_best, result_path

    _check(command)
    with activity("planning"):
        plan = plan_grid(command.layers, command.grid, command.seeds, check_memory=_memory_check(command.backend))
    say(grid_heading(plan))
    with activity("preparing"):
        prepare(plan.base)
    result = _train(command, plan, say)
    document = result.to_json()
    if not command.as_json:
        _print_result(result)
    tested = None
    if command.evaluate and plan.base.test_episodes and result.best is not None:
        with in_parts() as part:
            tested = evaluate_best(result, plan, command.models, part)
    place = result_path(command.models, result)
    if command.as_json:
        test = None if tested is None else evaluation_summary(tested.document, tested.path)
        print_json({**document, "file": str(place), "test": test})
    else:
        if tested is not None:
            _print_held_out(tested.document)
            print_note(f"written to {tested.path}")
        print_note(f"{result.grid_id} · written to {place}")
    if result.failed:
        print(f"error: {result.failed:,} of {len(plan.tasks):,} trainings failed", file=sys.stderr)
        print("  the same command tries them again and keeps the others", file=sys.stderr)
        raise typer.Exit(FAILURE)


def _check(command: GridCommand) -> None:
    from mayavi.rl.training.backend import MODAL

    if command.ray is not None and command.jobs is not None:
        raise UsageError("--jobs is for this machine, and --ray names a cluster", "leave one of the two out")
    if command.ray is not None and command.backend == MODAL:
        raise UsageError("a grid runs on a Ray cluster or on Modal, not on both", "leave --ray or --remote out")


def _memory_check(backend: str) -> Any:
    """Memory check of the machine that trains."""
    from mayavi.rl.training.backend import MODAL
    from mayavi.rl.training.memory_ceiling import check_ceiling

    if backend != MODAL:
        return check_ceiling
    from mayavi.rl.modal.cost_guard import Machine
    from mayavi.rl.modal.gpu_memory import check_memory

    machine = Machine.from_environment()
    return lambda found: check_memory(found, machine)


def _train(command: GridCommand, plan: GridPlan, say: Callable[[str], None]) -> GridResult:
    from mayavi.rl.grid.train_grid import train_grid

    try:
        with counted("training the grid", "trainings", eta=True) as advance:
            return train_grid(
                plan,
                models=command.models,
                jobs=command.jobs,
                ray=command.ray,
                backend=command.backend,
                progress=advance,
                say=say,
            )
    except KeyboardInterrupt:
        print("interrupted: finished trainings and the checkpoints of the others are kept", file=sys.stderr)
        print("  the same command continues the grid", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def grid_heading(plan: GridPlan) -> str:
    """Return the heading of a grid, without the settings that it varies."""
    base, points = plan.base, len(plan.points)
    seeds = f"{len(plan.seeds):,} seed{'' if len(plan.seeds) == 1 else 's'}"
    many = f"{points:,} combination{'' if points == 1 else 's'} × {seeds}"
    varied = {setting.partition("=")[0] for point in plan.points for setting in point}
    how = " ".join(str(getattr(base, key)) for key in ("framework", "algorithm") if key not in varied)
    parts = [plan.grid_id, base.env, *([how] if how else [])]
    steps = "" if "timesteps" in varied else f" of {base.timesteps:,} steps"
    return f"{' · '.join(parts)} · {many} = {len(plan.tasks):,} trainings{steps}"


def _print_result(result: GridResult) -> None:
    print(f"mean reward on {result.episodes:,} episodes of the validation split")
    columns = [
        Column("settings", right=False), Column("trainings"), Column("mean"), Column("95 %"),
        Column("against the best"), Column("95 %"), Column(""),
    ]  # fmt: skip
    print_table(columns, [_row(each, at == result.best) for at, each in enumerate(result.points)])
    for point in result.points:
        for seed, why in point.failed.items():
            print(f"failed: {' '.join(point.settings) or 'as given'}, seed {seed}: {why}", file=sys.stderr)
    if result.best is None:
        print_note("no settings are complete, so that none is the best")
        return
    best = result.points[result.best]
    print(f"best: {' '.join(best.settings) or 'as given'}, in {', '.join(each.run_id for each in best.trainings)}")
    if result.cost_usd or result.most_usd is not None:
        from mayavi.rl.training.cost import dollars, dollars_up

        most = "" if result.most_usd is None else f" of at most {dollars_up(result.most_usd)}"
        print(f"cost {dollars(result.cost_usd)}{most}")


def _print_held_out(document: Mapping[str, Any]) -> None:
    """Print how the best settings do on the test split, one line for each baseline."""
    name = document["models"][0]["algorithm"]
    compared = document["pooled"] or document["comparisons"]
    mean = document[name]["mean"]
    print(
        f"the best on {document['settings']['episodes']:,} episodes of the test split, not used for selection: "
        f"{mean['value']:.6g}, 95 % {_bounds(mean)}"
    )
    columns = [
        Column("against", right=False), Column("mean"), Column("difference"), Column("95 %"),
        Column("it is", right=False),
    ]  # fmt: skip
    rows = [
        (
            each["against"],
            f"{document[each['against']]['mean_reward']:.6g}",
            f"{each['difference']['value']:.4g}",
            _bounds(each["difference"]),
            each["verdict"],
        )
        for each in compared
    ]
    print_table(columns, rows)


def _row(point: PointResult, best: bool) -> tuple[str, ...]:
    return (
        " ".join(point.settings) or "as given",
        f"{len(point.trainings):,}",
        "–" if point.mean is None else f"{point.mean.value:.6g}",
        _interval(point.mean),
        "" if point.difference is None else f"{point.difference.value:.4g}",
        "" if point.difference is None else _interval(point.difference),
        "best" if best else "incomplete" if not point.complete else "",
    )


def _interval(estimate: Estimate | None) -> str:
    return "–" if estimate is None else _bounds(estimate.to_json())


def _bounds(estimate: Mapping[str, Any]) -> str:
    if estimate["low"] is None or estimate["high"] is None:
        return "–"
    return f"[{estimate['low']:.6g}, {estimate['high']:.6g}]"
