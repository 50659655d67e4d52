"""`mayavi runs`: list, inspect, compare, export and delete stored runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.group import command_group
from mayavi.cli.console.output import Column, print_facts, print_json, print_note, print_table
from mayavi.cli.console.progress import activity
from mayavi.cli.printing.runs import (
    diff_document,
    explanation_document,
    print_diff,
    print_explanation,
    raised_document,
    run_document,
    run_facts,
)
from mayavi.cli.runs.accounts import accounts
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.sim.store import Store

app = command_group("Stored runs: list, show, accounts, diff, explain, export, rm.")

RunArgument = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run id, a unique beginning or end of one, or `latest`."),
]
StoreOption = Annotated[
    Path | None, typer.Option("--store", metavar="FILE", help="The database of runs; by default data/runs/runs.duckdb.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

SHOWN_RUNS = 20
SHOWN_KINDS = 12

app.command("accounts", short_help="Show the borrowing accounts of a run after its last step.")(accounts)


@app.command("list")
def list_runs(
    scenario: Annotated[str | None, typer.Option("--scenario", help="Only runs of this scenario.")] = None,
    sweep: Annotated[str | None, typer.Option("--sweep", metavar="ID", help="Only runs of this sweep.")] = None,
    status: Annotated[
        str | None, typer.Option("--status", help="Only runs that are running, finished, halted or interrupted.")
    ] = None,
    show_all: Annotated[bool, typer.Option("--all", help=f"Show every run, not only {SHOWN_RUNS}.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the runs, newest first."""
    database = opened(store)
    if status is not None:
        check_status(status)
    sweep_id = None if sweep is None else database.sweep(sweep).sweep_id
    found = database.runs(scenario=scenario, sweep_id=sweep_id, status=status).records()
    if as_json:
        print_json({"store": str(database.path), "runs": [run_document(run) for run in found]})
        return
    shown = found if show_all else found[:SHOWN_RUNS]
    if shown:
        print_table(
            [
                Column("run", right=False),
                Column("scenario", right=False),
                Column("world", right=False),
                Column("seed"),
                Column("steps"),
                Column("actions"),
                Column("failed"),
                Column("seconds"),
                Column("status", right=False),
            ],
            [
                (
                    run.run_id,
                    run.scenario,
                    run.world,
                    str(run.seed),
                    f"{run.steps if run.steps_done in (None, run.steps) else f'{run.steps_done} of {run.steps}'}",
                    format_count(run.action_count),
                    format_count(run.failed_count),
                    "" if run.seconds is None else f"{run.seconds:,.1f}",
                    run.status,
                )
                for run in shown
            ],
        )
    if len(found) > len(shown):
        print_note(f"… {len(found) - len(shown):,} older, `--all` shows them")
    if not found:
        kept = [
            f"--{name} {value}"
            for name, value in (("scenario", scenario), ("sweep", sweep), ("status", status))
            if value
        ]
        print_note(f"no run in '{database.path}' fits {' '.join(kept)}" if kept else empty_hint(database))


@app.command("show", short_help="Show settings, result, KPIs and actions of a run.")
def show(run: RunArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show a run: its settings, result, KPIs, the actions of its agents, and whose code raised what."""
    from mayavi.sim.store.exceptions import raised_actions

    database = opened(store)
    found = database.run(run)
    kpis = database.kpis(found.run_id).records()
    kinds = database.sql(
        "SELECT agent_kind, status, count(*) AS actions, sum(gas_used)::BIGINT AS gas FROM"
        f" (SELECT kind AS agent_kind, status, gas_used FROM actions WHERE run_id = '{found.run_id}')"
        " GROUP BY ALL ORDER BY actions DESC, agent_kind, status"
    ).fetchall()
    raised = raised_actions(database, found.run_id)
    if as_json:
        print_json(
            {
                **run_document(found),
                "scenario_text": found.scenario_text,
                "kpis": {row.name: {"value": row.value, "number": row.number, "unit": row.unit} for row in kpis},
                "actions": [
                    {"kind": kind, "status": status, "count": count, "gas_used": gas}
                    for kind, status, count, gas in kinds
                ],
                "raised": [raised_document(each) for each in raised],
                "timings": found.timings,
                "specialise": found.specialise,
            }
        )
        return
    print_facts(run_facts(found))
    if kpis:
        from mayavi.scenarios.figures.formatting import shown, title_of
        from mayavi.scenarios.figures.notes import notes

        print()
        print_table(
            [Column("figure", right=False), Column("value")],
            [(title_of(row.name), shown(row, found.chain)) for row in kpis],
        )
        for note in notes({row.name: row.number for row in kpis}):
            print(f"note: {note}")
    if kinds:
        print()
        print_table(
            [Column("action", right=False), Column("status", right=False), Column("count"), Column("gas")],
            [(kind, status, f"{count:,}", f"{gas:,}") for kind, status, count, gas in kinds[:SHOWN_KINDS]],
        )
        if len(kinds) > SHOWN_KINDS:
            print_note(f"… {len(kinds) - SHOWN_KINDS} more kinds, `--json` lists them")
    if raised:
        print()
        for each in raised[:SHOWN_KINDS]:
            print(each)
        if len(raised) > SHOWN_KINDS:
            print_note(f"… {len(raised) - SHOWN_KINDS} more errors, `--json` lists them")
    if found.specialise.get("share") is not None:
        from mayavi.cli.printing.specialise import print_statistics

        print_statistics(found.specialise)
    if found.error:
        print()
        print(found.error.rstrip())


@app.command("diff")
def diff(
    before: Annotated[str, typer.Argument(metavar="RUN", help="A run.")],
    after: Annotated[str, typer.Argument(metavar="OTHER", help="The run to compare with it.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two runs: settings, KPIs, and the first differing row.

    Exit code 0 when their rows are equal, 1 when not, 2 when there is no such run.
    """
    database = opened(store)
    with activity("comparing"):
        found = database.diff(before, after)
    if as_json:
        print_json(diff_document(found))
    else:
        print_diff(found)
    if not found.equal:
        raise typer.Exit(1)


@app.command("explain", short_help="Explain step by step what happened to an agent.")
def explain(
    run: RunArgument,
    agent: Annotated[str, typer.Option("--agent", metavar="NAME", help="An agent, or an account of one.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain step by step what an agent did, what others did to it, and why it was liquidated."""
    found = opened(store).explain(run, agent)
    if as_json:
        print_json(explanation_document(found))
    else:
        print_explanation(found)


@app.command("export", short_help="Write runs to Parquet or CSV files.")
def export(
    run: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]…", help="Run ids, or unique parts of them; none for all runs.")
    ] = None,
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Folder to write to.")] = Path("export"),
    format: Annotated[str, typer.Option("--format", metavar="parquet|csv", help="File format.")] = "parquet",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write runs to Parquet or CSV files, one per table: runs, actions, market_snapshots, kpis, accounts."""
    database = opened(store)
    with activity(f"writing to '{to}'"):
        files = database.export(run or None, to, format, overwrite=overwrite)
    if as_json:
        print_json({"files": [str(file) for file in files]})
        return
    for file in files:
        print(f"{file}, {file.stat().st_size:,} bytes")


@app.command("rm")
def remove(
    run: Annotated[list[str] | None, typer.Argument(metavar="[RUN]…", help="Run ids, or unique parts of them.")] = None,
    sweep: Annotated[str | None, typer.Option("--sweep", metavar="ID", help="A sweep and all of its runs.")] = None,
    status: Annotated[
        str | None, typer.Option("--status", metavar="interrupted|halted", help="All runs with this status.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove runs and all their rows. A running run cannot be removed."""
    database = opened(store)
    named = list(run or ())
    if status is not None:
        if status not in {"interrupted", "halted"}:
            raise UsageError(f"runs cannot be removed by the status '{status}'", "interrupted and halted ones can")
        named += [each.run_id for each in database.runs(status=status)]
    if not named and sweep is None and status is None:
        raise UsageError("no run is named", "name runs, `--sweep ID` or `--status interrupted`")
    gone = database.remove(*named)
    if sweep is not None:
        gone += database.remove_sweep(sweep)
    if as_json:
        print_json({"removed": gone})
    else:
        print(f"removed {len(gone):,} run{'' if len(gone) == 1 else 's'}")


def opened(path: Path | None) -> Store:
    """Open the store, merging waiting segments if that is possible at once."""
    from mayavi.sim.store import Store

    store = Store(path)
    store.merge(patience_s=0.0)
    return store


def check_status(status: str) -> None:
    """Raise `UnknownName` if `status` is not a status of runs."""
    from typing import get_args

    from mayavi.errors import UnknownName
    from mayavi.sim.rows import RunStatus

    if status not in get_args(RunStatus):
        raise UnknownName.of("status", status, get_args(RunStatus), f"a run is {', '.join(get_args(RunStatus))}")


def empty_hint(store: Store) -> str:
    """Return the next step for an empty store."""
    from mayavi.sim.store import store_path

    there = "" if store.path == store_path(None) else f" --store {store.path}"
    makes = f"`mayavi run depeg_cascade{there}` makes one, `mayavi scenarios list` shows others"
    return f"no runs in '{store.path}' yet: {makes}"


def format_count(count: int | None) -> str:
    """Format a count; empty for a running run, which has none yet."""
    return "" if count is None else f"{count:,}"
