"""`mayavi run`: a scenario, once, and what came of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.output import print_json, print_note
from mayavi.cli.progress import activity, counted

if TYPE_CHECKING:
    from mayavi.scenarios.config import ScenarioConfig
    from mayavi.scenarios.results import Run

COUNTED = {"actions", "failed", "raised", "transactions", "gas_used", "fees_wei"}
"""Figures that the first line tells."""
REASONS_SHOWN = 3

ScenarioName = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="A name of `mayavi scenarios list`, or the path of a YAML file.")
]
ChainOption = Annotated[str | None, typer.Option("--chain", help="The chain; by default the one the scenario names.")]
StepsOption = Annotated[int | None, typer.Option("--steps", help="How many steps; by default as the scenario says.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="A.B=C", help="Change a value of the scenario; may be given again.")
]
SourceOption = Annotated[
    str | None, typer.Option("--source", metavar="replica|rpc|snapshot", help="Where the world comes from.")
]
SnapshotOption = Annotated[
    Path | None, typer.Option("--snapshot", metavar="FILE", help="Start from this snapshot file.")
]
RpcUrlOption = Annotated[
    str | None, typer.Option("--rpc-url", metavar="URL", help="The node to read from; by default MAYAVI_RPC_URL.")
]
BlockOption = Annotated[
    str | None, typer.Option("--block", metavar="N", help="With a node: a number, a block hash or `latest`.")
]
StoreOption = Annotated[
    Path | None, typer.Option("--store", metavar="FILE", help="The database of runs; by default data/runs/runs.duckdb.")
]


def run(
    scenario: ScenarioName,
    chain: ChainOption = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="What chance depends on: the same seed, the same run.")
    ] = None,
    steps: StepsOption = None,
    overrides: SetOption = None,
    source: SourceOption = None,
    snapshot: SnapshotOption = None,
    rpc_url: RpcUrlOption = None,
    block: BlockOption = None,
    store: StoreOption = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Threads of the kernel; changes the time it takes, no result.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run a scenario and keep every action in the database of runs.

    The same scenario, seed and world give the same rows, bit for bit: the digest at the end identifies them.
    """
    from mayavi.scenarios.loading import load_scenario
    from mayavi.scenarios.running import check_threads, halted, run_scenario
    from mayavi.scenarios.world_source import WorldSource
    from mayavi.sim.store import new_run_id, store_path
    from mayavi.sim.world_state import checked_seed

    check_threads(threads)
    chosen = load_scenario(scenario, chain=chain, steps=steps, overrides=overrides or ())
    world = WorldSource.of(source, chain=chosen.config.chain, snapshot=snapshot, rpc_url=rpc_url, block=block_of(block))
    used_seed = checked_seed(chosen.config.seed if seed is None else seed)
    run_id = new_run_id()
    place = store_path(store)
    heading = f"{chosen.name} · {chosen.config.chain} · seed {used_seed} · run {run_id}"
    # First of all, so that whoever interrupts it knows what was interrupted.
    print(heading, file=sys.stderr if as_json else sys.stdout, flush=True)
    with activity("opening the world"):
        world.open()
    with counted(f"running {chosen.name}", "steps", eta=True) as advance:
        done = run_scenario(
            chosen, world, seed=used_seed, store=place, threads=threads, run_id=run_id, progress=advance
        )
    if as_json:
        print_json(document(done))
    elif done.status != "halted":
        for line in told(done, chosen.config):
            print(f"  {line}")
        print_note(f"  {last_line(done)}")
    if done.status == "halted":
        raise halted(done)


def block_of(text: str | None) -> int | str | None:
    """`--block` as a fork takes it."""
    from mayavi.cli.position import block_of as of

    return of(text)


def document(run: Run) -> dict[str, object]:
    """A run for programs."""
    return {
        "run_id": run.run_id,
        "scenario": run.scenario,
        "chain": run.chain,
        "seed": str(run.seed),
        "steps": run.steps,
        "status": run.status,
        "digest": run.digest,
        "kpis": {row.name: {"value": row.value, "number": row.number, "unit": row.unit} for row in run.kpis.rows()},
        "timings": dict(run.timings),
        "store": str(run.store_path),
        "error": run.error,
    }


def told(run: Run, config: ScenarioConfig) -> list[str]:
    """What one wants to know of a run: how much happened, what failed, its figures, where prices went."""
    from mayavi.scenarios.figures import shown, title_of

    lines = [f"{run.steps:,} step{'s' if run.steps != 1 else ''}, {agents_of(config)}, {happened(run)}"]
    if raised := int(run.kpis.get("raised", 0)):
        who = ", ".join(sorted(run.tally.raised)[:REASONS_SHOWN]) if run.tally else ""
        lines.append(f"{raised:,} times the code of an agent broke ({who}); `mayavi runs explain` shows where")
    figures = [(title_of(row.name), shown(row)) for row in run.kpis.rows() if row.name not in COUNTED]
    width = max((len(name) for name, _ in figures), default=0)
    lines += [f"{name.ljust(width)}  {value}" for name, value in figures]
    return lines + prices(run)


def agents_of(config: ScenarioConfig) -> str:
    """Who acts: `100 borrowers, 2 liquidators`."""
    counts = {name: getattr(agent, "count", 1) for name, agent in config.agents.items()}
    return ", ".join(f"{count:,} {name}" if count != 1 else name for name, count in counts.items())


def happened(run: Run) -> str:
    """The transactions, and why some failed: `1,204 transactions (37 failed: 31 × …, 6 × …)`."""
    sent, failed = int(run.kpis.get("transactions", 0)), int(run.kpis.get("failed", 0))
    text = f"{sent:,} transaction{'s' if sent != 1 else ''}"
    if not failed:
        return text
    reasons = run.tally.failures.most_common(REASONS_SHOWN) if run.tally else []
    shown = ", ".join(f"{count:,} × {short(reason)}" for reason, count in reasons)
    more = (
        f" and {failed - sum(count for _, count in reasons):,} others"
        if run.tally and len(run.tally.failures) > len(reasons)
        else ""
    )
    return f"{text} ({failed:,} action{'s' if failed != 1 else ''} failed: {shown}{more})"


def short(reason: str, limit: int = 60) -> str:
    """The gist of a reason: its first line, without the place in front."""
    line = reason.partition("\n")[0]
    line = line.partition(" reverted: ")[2] or line
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def prices(run: Run) -> list[str]:
    """Where every price went: `WETH  $2,562.92 → $1,922.19 (−25.0 %)`."""
    from mayavi.scenarios.figures import change, shown

    if run.tally is None:
        return []
    moved = [
        (subject, before, run.tally.last[(subject, metric)])
        for (subject, metric), before in run.tally.first.items()
        if metric == "price" and run.tally.last[(subject, metric)].value != before.value
    ]
    width = max((len(subject) for subject, _, _ in moved), default=0)
    return [
        f"{subject.ljust(width)}  {shown(before)} → {shown(after)} ({change(before.number, after.number)})"
        for subject, before, after in moved
    ]


def last_line(run: Run) -> str:
    """The digest, the time, and what to do next with the run."""
    identity = f"digest {run.digest[:4]}…{run.digest[-4:]} · {run.timings.get('total', 0.0):.1f} s"
    return f"{identity} · `mayavi runs show {run.run_id}` tells more"
