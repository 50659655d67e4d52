"""`mayavi sweep`: run a scenario with many seeds and print statistics."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.exit_codes import FAILURE
from mayavi.cli.console.output import Column, print_json, print_note, print_table
from mayavi.cli.console.progress import duration
from mayavi.cli.position import block_of
from mayavi.cli.printing.specialise import SpecialiseOption, StatsOption, print_statistics
from mayavi.cli.remote import KeyFileOption, RemoteOption, refuse_key_file
from mayavi.cli.run import (
    BlockOption,
    ChainOption,
    JobsOption,
    RpcUrlOption,
    ScenarioName,
    SetOption,
    SnapshotOption,
    SourceOption,
    StepsOption,
    StoreOption,
)
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import ExitStack

    from mayavi.cli.printing.sweep_terminal import SweepTerminal
    from mayavi.scenarios.sweep.plan import Plan
    from mayavi.scenarios.sweep.request import SweepRequest
    from mayavi.scenarios.sweep.result import PointSummary, Sweep
    from mayavi.scenarios.sweep.until import TargetStatus

SeedsOption = Annotated[
    str | None,
    typer.Option("--seeds", metavar="0:1000", help="The seeds: 0:1000, 1,2,5 or both; with --until the first ones."),
]
UntilOption = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar='"VaR ±10%"',
        help="Add seeds until this precision is reached: VaR, LaR, ES, mean(FIGURE), p95(FIGURE); +- may replace ±.",
    ),
]


def sweep(
    scenario: ScenarioName,
    seeds: SeedsOption = None,
    until: UntilOption = None,
    most: Annotated[
        int | None, typer.Option("--most", metavar="N", help="Most seeds with --until; by default 10,000.")
    ] = None,
    jobs: JobsOption = None,
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", metavar="A.B=1,2,3", help="Several values of a key; if repeated, all combinations."),
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
        str | None, typer.Option("--ray", metavar="ADDRESS", help="Run on this Ray cluster: auto, host:6379.")
    ] = None,
    specialise: SpecialiseOption = None,
    stats: StatsOption = False,
    remote: RemoteOption = None,
    key_file: KeyFileOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run a scenario once for each seed, on all cores, and summarise: mean, quantiles, VaR, ES and LaR.

    Every run is stored, and a stored run is not repeated: the same command continues an interrupted sweep.
    """
    if remote is not None:
        from mayavi.cli.remote import connect, refuse_local_options, submission, sweep_remote

        refuse_local_options(
            {
                "--until": until,
                "--most": most,
                "--jobs": jobs,
                "--source": source,
                "--snapshot": snapshot,
                "--rpc-url": rpc_url,
                "--block": block,
                "--store": store,
                "--ray": ray,
                "--specialise": specialise,
                "--stats": stats or None,
            }
        )
        if seeds is None:
            raise UsageError("there are no seeds", "give --seeds 0:100")
        with connect(remote, key_file) as client:
            wanted = submission(scenario, chain, steps, overrides or [])

            def show(found: Sweep, closing: str) -> None:
                if as_json:
                    print_json(document(found) | {"store": client.url})
                else:
                    print_sweep(found, closing)

            sweep_remote(client, wanted, seeds, grid or [], as_json=as_json, show=show)
        return
    refuse_key_file(key_file)
    from contextlib import ExitStack

    from mayavi.cli.printing.sweep_terminal import interrupted
    from mayavi.evm.specialise import chosen_specialise
    from mayavi.scenarios.sweep.stored_runs import stored_runs
    from mayavi.scenarios.sweep.sweep import sweep as sweep_scenario
    from mayavi.sim.store import Store, store_path

    if seeds is not None and seeds.strip().isdigit():
        print(one_seed_text(seeds.strip()), file=sys.stderr)
    with ExitStack() as bars:
        listener = terminal(bars, as_json=as_json)
        try:
            found = sweep_scenario(
                scenario,
                seeds=seeds,
                until=until,
                most=most,
                jobs=jobs,
                grid=grid or (),
                chain=chain,
                steps=steps,
                overrides=overrides or (),
                source=source,
                snapshot=snapshot,
                rpc_url=rpc_url,
                block=block_of(block),
                store=store,
                ray=ray,
                specialise=specialise,
                listener=listener,
            )
        except KeyboardInterrupt:
            bars.close()
            if listener.plan is None:
                raise
            plan = listener.plan
            kept = len(stored_runs(Store(store_path(store)), plan))  # workers may have stored runs not reported yet
            raise interrupted(kept, plan) from None
    if found.resumed and chosen_specialise(specialise) == "check":
        print(
            f"note: not checked, because they were stored before: {_runs(found.resumed)}; another --store runs all",
            file=sys.stderr,
        )
    if as_json:
        print_json(document(found))
        if found.target is not None and not found.target.reached:
            print(f"error: {unreached_text(found.target)[0]}", file=sys.stderr)
            raise typer.Exit(FAILURE)  # an error object would be a second document
        return
    if stats:
        print_statistics(found.specialise)
    print_sweep(found)


def terminal(bars: ExitStack, *, as_json: bool) -> SweepTerminal:
    """Return a listener that prints heading and progress; its progress bar ends with `bars`."""
    from mayavi.cli.printing.sweep_terminal import SweepTerminal

    class Terminal(SweepTerminal):
        doing = "sweeping"

        def describe(self, request: SweepRequest, plan: Plan) -> str:
            if request.until is None:
                return _runs(len(plan.tasks))
            return f"until {request.until}, at most {request.most * len(plan.points):,} runs"

        def looked(self, status: TargetStatus) -> None:
            more = "" if status.reached or status.runs >= status.most else f"; next {status.next_runs():,}"
            print(f"{status.runs:,} seeds: {known_text(status)}{more}", file=sys.stderr, flush=True)

        def extended(self, plan: Plan) -> None:
            self.plan = plan

    return Terminal(bars, as_json=as_json)


def print_sweep(found: Sweep, closing: str | None = None) -> None:
    """Print the figures, notes and target of a sweep; raise `SimulationError` if it did not reach its target.

    `closing` is the last line, by default where the runs are in this machine's store.
    """
    if len(found.points) == 1:
        print_point(found.points[0], found.chain)
    else:
        print_grid(found)
    for note in found.notes:
        print(f"note: {note}")
    if len(found.seeds) > 1 and len(set(found.digests)) <= len(found.points):
        print("all seeds gave the same rows: nothing in this scenario is random")
    print_note(closing or last_line(found))
    if found.target is None:
        return
    if not found.target.reached:
        from mayavi.errors import SimulationError

        raise SimulationError(*unreached_text(found.target))
    print(f"reached: {reached_text(found.target)}")


def one_seed_text(seed: str) -> str:
    """Note for `--seeds 5`, which is the seed 5 and not five seeds."""
    return f"note: one seed: {seed}" + (f"; 0:{seed} are {int(seed):,} seeds" if int(seed) > 1 else "")


def print_point(point: PointSummary, chain: str) -> None:
    """Print all figures of a point, VaR, expected shortfall and LaR."""
    from mayavi.scenarios.sweep.result import SUMMARY_COLUMNS, headlines, summary_rows

    print()
    if all(each.count == 1 for each in point.figures.values()):
        print_table([Column("figure", right=False), Column("one run")], [row[:2] for row in summary_rows(point, chain)])
        print()
        print_note("one run has no quantiles, and no VaR: give more seeds, such as --seeds 0:100")
        return
    print_table(
        [Column(title, right=index > 0) for index, title in enumerate(SUMMARY_COLUMNS)], summary_rows(point, chain)
    )
    print()
    for line in headlines(point):
        print(line)
    if any(each.minimum < 0 for each in point.figures.values()):
        print_note("p95 is a large number: of changes and falls, which are negative, p5 is the bad side")
    if not point.value_at_risk and (missing := missing_bounds([point], list(point.figures))):
        print_note(missing)


def missing_bounds(points: Sequence[PointSummary], names: Sequence[str]) -> str:
    """Say how many runs the missing bounds of p95 need; empty if none is missing."""
    found = [point.figures[name].p95 for point in points for name in names]
    lacking = [each for each in found if not each.complete]
    if not lacking:
        return ""
    return f"{min(point.figures[names[0]].count for point in points):,} runs: {lacking[0].missing()} of p95"


def known_text(status: TargetStatus) -> str:
    """Say how well the target of a sweep is known: `VaR $1,204 ±18.2 %`."""
    from mayavi.scenarios.figures.formatting import dollars, plain

    show = dollars if status.target.figure in {"bad_debt", "liquidated"} else plain
    label, found = status.target.label, status.estimate
    if status.relative is not None:
        return f"{label} {show(found.value)} ±{status.relative * 100:.3g} %"
    if status.hopeless:
        return f"every run gave {label} {show(found.value)}, and equal values show no spread"
    if found.complete:
        return f"{label} is {show(found.value)}, of which no percentage can be taken (interval {found.interval(show)})"
    return f"{label} {show(found.value)}, {found.missing()}"


def reached_text(status: TargetStatus) -> str:
    """Say that the target is reached, and how repeated looks are accounted for."""
    return f"{status.target}: {known_text(status)} after {_seeds(status)}; intervals allow for repeated looks"


def unreached_text(status: TargetStatus) -> tuple[str, str]:
    """Return message and hint of a sweep whose target is not reached."""
    hint = "the runs are kept"
    if status.hopeless:
        hint += "; start with more seeds, or change the scenario so that the figure varies"
    elif status.estimate.complete and not status.estimate.value:
        other = f'--until "mean({status.target.figure}) ±20%"'
        hint += f"; more seeds may leave it at zero: take a figure that is not, such as {other}, or read P(loss)"
    elif status.runs_needed is not None:
        about = "at least" if status.relative is None else "about"
        hint += f"; {about} {status.runs_needed:,} seeds are needed: the same command with --most {status.runs_needed}"
    else:
        hint += "; a larger --most continues"
    reached = f"{status.target} is not reached with {_seeds(status)} (--most {status.most})"
    return f"{reached}: {known_text(status)}", hint


def _seeds(status: TargetStatus) -> str:
    return f"{status.runs:,} {'seed' if status.runs == 1 else 'seeds'}"


def print_grid(found: Sweep) -> None:
    """Print a line for each point of the grid with the headline figures."""
    from mayavi.scenarios.figures.formatting import shown_number, title_of
    from mayavi.scenarios.sweep.result import BAD_DEBT, headline_figures

    axes = [override.partition("=")[0] for override in found.points[0].overrides]
    names = headline_figures(found.points)
    short = {"bad_debt": "VaR", "liquidated": "LaR"}
    columns = [Column(axis) for axis in axes]
    for name in names:
        columns += [Column(f"{title_of(name)}, mean"), Column(short.get(name, "p95")), Column("95 % interval")]
        columns += [Column("ES")] if name == BAD_DEBT else []
    rows = []
    for point in found.points:
        row = [override.partition("=")[2] for override in point.overrides]
        for name in names:
            each, unit = point.figures[name], point.units[name]

            def show(number: float, name: str = name, unit: str = unit) -> str:
                return shown_number(number, unit, name)

            row += [show(each.mean.value), show(each.p95.value), each.p95.interval(show)]
            if name == BAD_DEBT:
                row.append(show(each.expected_shortfall.value))
        rows.append(row)
    print()
    print_table(columns, rows)
    print()
    if {"bad_debt", "liquidated"} <= set(names):
        print("VaR and LaR: the bad debt and the liquidated value that 95 % of the runs stay below")
        print("ES: the mean bad debt of the worst 5 % of the runs")
    if missing := missing_bounds(found.points, names):
        print_note(missing)
    print_note("--json has every figure of every point")


def last_line(found: Sweep) -> str:
    """Return the number of runs, the time, and the next command."""
    before = f" ({found.resumed:,} were stored before)" if found.resumed else ""
    took = duration(found.seconds)
    return f"{_runs(len(found.runs))}{before} · {took} · `mayavi runs list --sweep {found.sweep_id}` shows each"


def document(found: Sweep) -> dict[str, object]:
    """Return a sweep as JSON data."""
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
        "until": None if found.target is None else found.target.to_json(),
        "seconds": found.seconds,
        "specialise": found.specialise,
        "store": str(found.store_path),
    }


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"
