"""`mayavi runs`: what was run, what came of it, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayavi.cli.group import command_group
from mayavi.cli.output import Column, print_facts, print_json, print_note, print_table
from mayavi.cli.progress import activity
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.sim.store import RunRecord, Store
    from mayavi.sim.store.comparison import RunDiff
    from mayavi.sim.store.explanation import Event, Explanation

app = command_group("Look at the runs that were stored: list, show, diff, explain, export, remove.")

RunArgument = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run id, its beginning or end where only one run fits, or `latest`."),
]
StoreOption = Annotated[
    Path | None, typer.Option("--store", metavar="FILE", help="The database of runs; by default data/runs/runs.duckdb.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

SHOWN_RUNS = 20
SHOWN_KINDS = 12


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
    """List the runs, the newest first."""
    database = opened(store)
    if status is not None:
        check_status(status)
    sweep_id = None if sweep is None else database.sweep(sweep).sweep_id
    found = database.runs(scenario=scenario, sweep_id=sweep_id, status=status).records()
    if as_json:
        print_json({"store": str(database.path), "runs": [as_object(run) for run in found]})
        return
    shown = found if show_all else found[:SHOWN_RUNS]
    if shown:
        print_table(
            [
                Column("run", right=False),
                Column("scenario", right=False),
                Column("chain", right=False),
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
                    run.chain,
                    str(run.seed),
                    f"{run.steps if run.steps_done in (None, run.steps) else f'{run.steps_done} of {run.steps}'}",
                    counted_or(run.action_count),
                    counted_or(run.failed_count),
                    "" if run.seconds is None else f"{run.seconds:,.1f}",
                    run.status,
                )
                for run in shown
            ],
        )
    if len(found) > len(shown):
        print_note(f"… {len(found) - len(shown):,} older, `--all` shows them")
    if not found:
        print_note(f"no such run in '{database.path}'" if scenario or sweep or status else nothing_in(database))


@app.command("show")
def show(run: RunArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show a run: what was asked for, what came of it, its figures and what its agents did."""
    database = opened(store)
    found = database.run(run)
    kpis = database.kpis(found.run_id).records()
    kinds = database.sql(
        "SELECT agent_kind, status, count(*) AS actions, sum(gas_used)::BIGINT AS gas FROM"
        f" (SELECT kind AS agent_kind, status, gas_used FROM actions WHERE run_id = '{found.run_id}')"
        " GROUP BY ALL ORDER BY actions DESC, agent_kind, status"
    ).fetchall()
    if as_json:
        print_json(
            {
                **as_object(found),
                "scenario_text": found.scenario_text,
                "kpis": {row.name: {"value": row.value, "number": row.number, "unit": row.unit} for row in kpis},
                "actions": [
                    {"kind": kind, "status": status, "count": count, "gas_used": gas}
                    for kind, status, count, gas in kinds
                ],
                "timings": found.timings,
            }
        )
        return
    print_facts(facts_of(found))
    if kpis:
        from mayavi.scenarios.run.figures import shown, title_of
        from mayavi.scenarios.run.notes import notes

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
    """Say in what two runs differ: what was asked for, their figures, and the first row that is not the same.

    Exit code 0 when their rows are the same, 1 when not, 2 when there is no such run.
    """
    database = opened(store)
    with activity("comparing"):
        found = database.diff(before, after)
    if as_json:
        print_json(diff_object(found))
    else:
        print_diff(found)
    if not found.equal:
        raise typer.Exit(1)


@app.command("explain")
def explain(
    run: RunArgument,
    agent: Annotated[str, typer.Option("--agent", metavar="NAME", help="An agent, or an account of one.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell step by step what an agent did, what was done to it, and why it was liquidated."""
    story = opened(store).explain(run, agent)
    if as_json:
        print_json(story_object(story))
    else:
        print_story(story)


@app.command("export")
def export(
    run: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]…", help="Run ids, or parts of them; none for all runs.")
    ] = None,
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Where the files go.")] = Path("export"),
    format: Annotated[str, typer.Option("--format", metavar="parquet|csv", help="What to write.")] = "parquet",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that are there.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write runs to Parquet or CSV files, one a table: runs, actions, market_snapshots, kpis."""
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
    run: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]…", help="Run ids, or parts of them where only one run fits.")
    ] = None,
    sweep: Annotated[str | None, typer.Option("--sweep", metavar="ID", help="A sweep and all of its runs.")] = None,
    status: Annotated[
        str | None, typer.Option("--status", metavar="interrupted|halted", help="All runs that ended like this.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove runs and all their rows. A run that is under way stays."""
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


# What is printed


def opened(path: Path | None) -> Store:
    """The store, with what waits beside it moved into it if that can be done at once."""
    from mayavi.sim.store import Store

    store = Store(path)
    store.merge(patience_s=0.0)
    return store


def check_status(status: str) -> None:
    """Refuse what no run can be."""
    from typing import get_args

    from mayavi.errors import UnknownName
    from mayavi.sim.rows import RunStatus

    if status not in get_args(RunStatus):
        raise UnknownName.of("status", status, get_args(RunStatus), f"a run is {', '.join(get_args(RunStatus))}")


def nothing_in(store: Store) -> str:
    """What to do where nothing is."""
    return f"no runs in '{store.path}' yet: `mayavi run depeg_cascade` makes one, `mayavi scenarios list` shows others"


def counted_or(count: int | None) -> str:
    """A count; of a run that is under way there is none yet."""
    return "" if count is None else f"{count:,}"


def facts_of(run: RunRecord) -> list[tuple[str, str]]:
    """A run in lines."""
    done = "" if run.steps_done in (None, run.steps) else f" ({run.steps_done} done)"
    took = "" if run.seconds is None else f", {run.seconds:,.2f} s"
    facts = [
        ("run", run.run_id),
        ("scenario", run.scenario),
        ("chain", f"{run.chain}, from {run.source}"),
        ("seed", str(run.seed)),
        ("steps", f"{run.steps:,}{done}"),
        ("started", f"{run.started_at:%Y-%m-%d %H:%M:%S} UTC{took}"),
        ("status", run.status),
        ("digest", run.digest or "none: it did not come to its end"),
        ("world", f"{run.world_digest[:16]}… → {run.final_world_digest[:16] or '?'}…"),
        ("versions", ", ".join(f"{name} {version}" for name, version in run.versions.items())),
    ]
    if run.sweep_id:
        facts.insert(1, ("sweep", run.sweep_id))
    if run.action_count is not None:
        counts = f"{run.action_count:,} actions ({run.failed_count or 0:,} failed, {run.raised_count or 0:,} raised)"
        facts.append(("rows", f"{counts}, {run.snapshot_count or 0:,} figures of the market"))
    return facts


def as_object(run: RunRecord) -> dict[str, Any]:
    """A run for programs."""
    return {
        "run_id": run.run_id,
        "sweep_id": run.sweep_id,
        "scenario": run.scenario,
        "chain": run.chain,
        "source": run.source,
        "seed": str(run.seed),
        "steps": run.steps,
        "steps_done": run.steps_done,
        "started_at": run.started_at.isoformat(),
        "seconds": run.seconds,
        "status": run.status,
        "digest": run.digest,
        "world_digest": run.world_digest,
        "final_world_digest": run.final_world_digest,
        "versions": run.versions,
        "action_count": run.action_count,
        "failed_count": run.failed_count,
        "raised_count": run.raised_count,
        "snapshot_count": run.snapshot_count,
        "error": run.error,
    }


def print_diff(found: RunDiff) -> None:
    """A comparison in lines."""
    before, after = found.before, found.after
    if found.equal:
        print(f"equal: both have the rows {before.digest or 'of an unfinished run'}")
    for name, (left, right) in found.fields.items():
        print(f"{name}: {left} → {right}")
    for line in found.scenario_lines[2:]:
        print(f"  {line}")
    if found.kpis:
        from mayavi.scenarios.run.figures import shown, title_of

        print_table(
            [Column("figure", right=False), Column("before"), Column("after")],
            [
                (title_of(name), *("none" if row is None else shown(row, before.chain) for row in pair))
                for name, pair in found.kpis.items()
            ],
        )
    if found.first is not None:
        first = found.first
        print(f"first difference: step {first.step}, row {first.place} of {first.table}")
        if first.before is None or first.after is None:
            print(f"  only {(before if first.after is None else after).run_id} has it")
        for name in first.fields if first.before and first.after else ():
            print(f"  {name}: {getattr(first.before, name)} → {getattr(first.after, name)}")


def diff_object(found: RunDiff) -> dict[str, Any]:
    """A comparison for programs."""
    from dataclasses import asdict

    first = found.first
    return {
        "before": found.before.run_id,
        "after": found.after.run_id,
        "equal": found.equal,
        "fields": {name: {"before": exact(a), "after": exact(b)} for name, (a, b) in found.fields.items()},
        "scenario_diff": found.scenario_lines,
        "kpis": {
            name: {"before": None if a is None else asdict(a), "after": None if b is None else asdict(b)}
            for name, (a, b) in found.kpis.items()
        },
        "first_difference": None
        if first is None
        else {
            "table": first.table,
            "row": first.place,
            "step": first.step,
            "fields": list(first.fields),
            "before": None if first.before is None else asdict(first.before),
            "after": None if first.after is None else asdict(first.after),
        },
    }


def exact(value: Any) -> Any:
    """A value for programs: what JSON readers would round is text."""
    return str(value) if isinstance(value, int) and abs(value) >= 2**53 else value


def print_story(story: Explanation) -> None:
    """What became of an agent, in lines."""
    from mayavi.sim.store.explanation import shown_wad

    run = story.run
    whose = "" if story.agent == story.account else f" (of agent {story.agent})"
    print(f"{story.account}{whose} in {run.scenario} on {run.chain}, seed {run.seed}, run {run.run_id}")
    rows: list[tuple[str, str, str]] = []
    said = ""
    for step in story.steps:
        factor = step.health_factor_wad
        health = shown_wad(factor) if factor is not None else "no debt" if step.owes_nothing else ""
        if not step.events and health == said:
            continue  # nothing new
        said = "" if step.events else health
        lines = [event_line(event, story.amounts(event)) for event in step.events] or [""]
        when = "start" if step.step < 0 else str(step.step)
        rows += [(when if at == 0 else "", health if at == 0 else "", line) for at, line in enumerate(lines)]
    print_table([Column("step"), Column("health factor"), Column("what happened", right=False)], rows)
    print()
    for sentence in story.why():
        print(sentence)


def event_line(event: Event, amounts: str) -> str:
    """An event and what it moved, in one line."""
    from mayavi.sim.store.explanation import shown_wad

    who = event.kind if event.own else f"{event.kind} by {event.agent}"
    factors = [event.health_factor_before, event.health_factor_after]
    moved = " → ".join(shown_wad(each) for each in factors if each is not None)
    if event.status != "success":
        first = event.reason.strip().splitlines()[-1] if event.reason.strip() else "no reason"
        return f"{who} {event.status}: {first}"
    parts = [event.note, f"health factor {moved}" if moved else "", amounts]
    rest = ", ".join(part for part in parts if part)
    return f"{who}: {rest}" if rest else who


def story_object(story: Explanation) -> dict[str, Any]:
    """What became of an agent, for programs."""
    return {
        "run_id": story.run.run_id,
        "agent": story.agent,
        "account": story.account,
        "liquidated": bool(story.liquidations),
        "why": story.why(),
        "steps": [
            {
                "step": step.step,
                "health_factor_wad": None if step.health_factor_wad is None else str(step.health_factor_wad),
                "figures": {
                    metric: {"value": value, "number": number, "unit": unit}
                    for metric, (value, number, unit) in step.figures.items()
                },
                "events": [
                    {
                        "agent": event.agent,
                        "own": event.own,
                        "kind": event.kind,
                        "status": event.status,
                        "reason": event.reason,
                        "note": event.note,
                        "block_number": event.block_number,
                        "liquidation": event.liquidates,
                        "health_factor_before_wad": text_or_none(event.health_factor_before),
                        "health_factor_after_wad": text_or_none(event.health_factor_after),
                        "amounts": story.amounts(event),
                        "details": event.details,
                    }
                    for event in step.events
                ],
            }
            for step in story.steps
        ],
    }


def text_or_none(value: int | None) -> str | None:
    """An integer as text."""
    return None if value is None else str(value)
