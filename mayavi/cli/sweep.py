"""`mayavi sweep`: a scenario with many seeds, and what all of the runs say together."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.exit_codes import INTERRUPTED
from mayavi.cli.output import Column, print_json, print_note, print_table
from mayavi.cli.position import block_of
from mayavi.cli.progress import activity, counted, duration
from mayavi.cli.run import (
    BlockOption,
    ChainOption,
    RpcUrlOption,
    ScenarioName,
    SetOption,
    SnapshotOption,
    SourceOption,
    StepsOption,
    StoreOption,
    open_shown,
)

if TYPE_CHECKING:
    from mayavi.scenarios.run.results import PointSummary, Sweep


def sweep(
    scenario: ScenarioName,
    seeds: Annotated[str, typer.Option("--seeds", metavar="0:1000", help="Which seeds: 0:1000, 1,2,5 or both.")],
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="N", help="How many processes; by default one for each core.")
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--grid", metavar="A.B=1,2,3", help="Several values of the scenario; given again, all combinations."
        ),
    ] = None,
    chain: ChainOption = None,
    steps: StepsOption = None,
    overrides: SetOption = None,
    source: SourceOption = None,
    snapshot: SnapshotOption = None,
    rpc_url: RpcUrlOption = None,
    block: BlockOption = None,
    store: StoreOption = None,
    ray: Annotated[
        str | None, typer.Option("--ray", metavar="ADDRESS", help="Let this Ray cluster do the work: auto, host:6379.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run a scenario once for each seed, on all cores, and summarise: mean, p5, p50, p95, VaR and LaR.

    Every run is kept. What is stored is not run again: the same command goes on with a sweep that was interrupted.
    """
    from mayavi.parallel.processes import check_jobs, default_jobs
    from mayavi.scenarios.loading import load_scenario
    from mayavi.scenarios.run.sweep import check_buildable, plan_of, run_sweep, stored_runs
    from mayavi.scenarios.run.sweep_plan import parse_grid, parse_seeds
    from mayavi.sim.store import Store, store_path
    from mayavi.sim.store.opening import refuse_unusable
    from mayavi.worlds.source import WorldSource

    processes = check_jobs(default_jobs() if jobs is None else jobs)
    chosen_seeds, points = parse_seeds(seeds), parse_grid(grid or ())
    scenarios = [
        load_scenario(scenario, chain=chain, steps=steps, overrides=overrides or (), grid=point) for point in points
    ]
    name, on = scenarios[0].name, scenarios[0].config.chain
    world = WorldSource.of(source, chain=on, snapshot=snapshot, rpc_url=rpc_url, block=block_of(block))
    place = store_path(store)
    refuse_unusable(place)
    open_shown(world)
    with activity("planning"):
        check_buildable(scenarios, world)
        plan = plan_of(scenarios, points, chosen_seeds, world)
    print(
        f"{name} · {on} · {len(plan.tasks):,} runs · {plan.sweep_id}",
        file=sys.stderr if as_json else sys.stdout,
        flush=True,
    )
    try:
        with counted("sweeping", "runs", eta=True) as advance:
            found = run_sweep(
                scenarios,
                points,
                chosen_seeds,
                world,
                store=place,
                jobs=processes,
                ray=ray,
                progress=advance,
            )
    except KeyboardInterrupt:
        kept = len(stored_runs(Store(place), plan))  # a worker may have ended one that was not heard of
        print(f"interrupted: {kept:,} of {len(plan.tasks):,} runs are done and kept", file=sys.stderr)
        print(f"  the same command goes on with the rest: {command()}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print_json(document(found))
        return
    if len(found.points) == 1:
        print_point(found.points[0], on)
    else:
        print_grid(found)
    for note in found.notes:
        print(f"note: {note}")
    if len(found.seeds) > 1 and len(set(found.digests)) <= len(found.points):
        print("all seeds gave the same rows: chance changes nothing in this scenario")
    print_note(last_line(found))


def command() -> str:
    """How this process was called, to be typed again."""
    import shlex

    return shlex.join(["mayavi", *sys.argv[1:]])


def print_point(point: PointSummary, chain: str) -> None:
    """All figures, and what is at risk."""
    from mayavi.scenarios.run.figures import shown_number
    from mayavi.scenarios.run.results import SUMMARY_COLUMNS, summary_rows

    print()
    print_table(
        [Column(title, right=index > 0) for index, title in enumerate(SUMMARY_COLUMNS)], summary_rows(point, chain)
    )
    print()
    at_risk = (("VaR", "bad debt", point.value_at_risk), ("LaR", "liquidated value", point.liquidations_at_risk))
    for short, what, found in at_risk:
        if found is not None:
            value, low, high = (
                shown_number(each, "usd_e8") for each in (found.p95.value, found.p95.low, found.p95.high)
            )
            print(f"{short}  {value}  the {what} that 95 % of the runs stay below (95 % interval {low} to {high})")


def print_grid(found: Sweep) -> None:
    """A line for each point of the grid: the figures that matter most."""
    from mayavi.scenarios.run.figures import shown_number, title_of
    from mayavi.scenarios.run.results import headline_figures

    axes = [override.partition("=")[0] for override in found.points[0].overrides]
    names = headline_figures(found.points)
    short = {"bad_debt": "VaR", "liquidated": "LaR"}
    columns = [Column(axis) for axis in axes]
    for name in names:
        columns += [Column(f"{title_of(name)}, mean"), Column(short.get(name, "p95")), Column("95 % interval")]
    rows = []
    for point in found.points:
        row = [override.partition("=")[2] for override in point.overrides]
        for name in names:
            each, unit = point.figures[name], point.units[name]
            numbers = (each.mean.value, each.p95.value, each.p95.low, each.p95.high)
            mean, high, lower, upper = (shown_number(number, unit, name) for number in numbers)
            row += [mean, high, f"{lower} to {upper}"]
        rows.append(row)
    print()
    print_table(columns, rows)
    print()
    if {"bad_debt", "liquidated"} <= set(names):
        print("VaR and LaR: the bad debt and the liquidated value that 95 % of the runs stay below")
    print_note("--json has every figure of every point")


def last_line(found: Sweep) -> str:
    """How long, what was there before, and what to do next."""
    before = f" ({found.resumed:,} were stored before)" if found.resumed else ""
    took = duration(found.seconds)
    return f"{len(found.runs):,} runs{before} · {took} · `mayavi runs list --sweep {found.sweep_id}` shows each"


def document(found: Sweep) -> dict[str, object]:
    """A sweep for programs."""
    return {
        "sweep_id": found.sweep_id,
        "scenario": found.scenario,
        "chain": found.chain,
        "runs": [
            {
                "run_id": run.run_id,
                "seed": str(run.seed),
                "overrides": list(found.points[index % len(found.points)].overrides),
                "digest": run.digest,
            }
            for index, run in enumerate(found.runs)
        ],
        "points": [point.to_json() for point in found.points],
        "notes": found.notes,
        "resumed": found.resumed,
        "seconds": found.seconds,
        "store": str(found.store_path),
    }
