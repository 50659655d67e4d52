"""`mayavi run`: run a scenario once and print a summary."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.output import is_styled, print_json, print_note
from mayavi.cli.console.progress import Advance, activity, counted
from mayavi.cli.position import block_of
from mayavi.cli.printing.run import last_line, summary_lines
from mayavi.cli.printing.run import plural as plural
from mayavi.cli.printing.specialise import SpecialiseOption, StatsOption, print_statistics
from mayavi.cli.remote import KeyFileOption, RemoteOption, refuse_key_file

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.scenarios.models.config import ScenarioConfig
    from mayavi.scenarios.run.request import RunListener, RunRequest
    from mayavi.scenarios.run.result import Run
    from mayavi.worlds.source import WorldSource

MANY_ACCOUNTS = 200
"""Number of accounts from which on opening their positions is shown as progress."""

ScenarioName = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="A name from `mayavi scenarios list`, or the path of a YAML file.")
]
ChainOption = Annotated[
    str | None,
    typer.Option("--chain", help="The chain, or a market of it (base@2025-12); by default the scenario's own."),
]
StepsOption = Annotated[int | None, typer.Option("--steps", help="Number of steps; by default the scenario's own.")]
JobsOption = Annotated[
    int | None, typer.Option("--jobs", metavar="N", help="Number of processes; by default one per core.")
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="A.B=C", help="Override a value of the scenario; repeatable.")
]
SourceOption = Annotated[
    str | None,
    typer.Option(
        "--source", metavar="replica|rpc|snapshot", help="World to start from; by default the scenario's own."
    ),
]
SnapshotOption = Annotated[
    Path | None, typer.Option("--snapshot", metavar="FILE", help="Start from this snapshot file.")
]
RpcUrlOption = Annotated[
    str | None, typer.Option("--rpc-url", metavar="URL", help="The node to read from; by default MAYAVI_RPC_URL.")
]
BlockOption = Annotated[
    str | None,
    typer.Option(
        "--block",
        metavar="N",
        help="Block of `mayavi world list`; with a node any number, hash or `latest`.",
    ),
]
StoreOption = Annotated[
    Path | None, typer.Option("--store", metavar="FILE", help="The database of runs; by default data/runs/runs.duckdb.")
]


def run(
    scenario: ScenarioName,
    chain: ChainOption = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed of all random numbers: the same seed, the same run.")
    ] = None,
    steps: StepsOption = None,
    overrides: SetOption = None,
    source: SourceOption = None,
    snapshot: SnapshotOption = None,
    rpc_url: RpcUrlOption = None,
    block: BlockOption = None,
    store: StoreOption = None,
    threads: Annotated[int | None, typer.Option("--threads", help="Kernel threads; no result depends on it.")] = None,
    specialise: SpecialiseOption = None,
    stats: StatsOption = False,
    remote: RemoteOption = None,
    key_file: KeyFileOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run a scenario and store every action in the database of runs.

    The same scenario, seed and world give the same rows, bit for bit: the digest at the end identifies them.
    """
    if remote is not None:
        from mayavi.cli.remote import connect, refuse_local_options, run_remote, submission

        refuse_local_options(
            {
                "--source": source,
                "--snapshot": snapshot,
                "--rpc-url": rpc_url,
                "--block": block,
                "--store": store,
                "--threads": threads,
                "--specialise": specialise,
                "--stats": stats or None,
            }
        )
        with connect(remote, key_file) as client:
            run_remote(client, submission(scenario, chain, steps, overrides or []), seed, document if as_json else None)
        return
    refuse_key_file(key_file)
    from mayavi.scenarios.run.run import run as run_scenario

    with ExitStack() as bars:
        run_scenario(
            scenario,
            chain=chain,
            seed=seed,
            steps=steps,
            overrides=overrides or (),
            source=source,
            snapshot=snapshot,
            rpc_url=rpc_url,
            block=block_of(block),
            store=store,
            threads=threads,
            specialise=specialise,
            listener=terminal_listener(bars, as_json=as_json, stats=stats),
        )


def terminal_listener(bars: ExitStack, *, as_json: bool, stats: bool = False) -> RunListener:
    """Return a listener that prints heading, progress and summary; its progress bar ends with `bars`."""
    from mayavi.scenarios.run.request import RunListener

    class TerminalListener(RunListener):
        request: RunRequest
        advance: Advance
        opening: ExitStack

        def open_world(self, world: WorldSource) -> Fork:
            return open_with_progress(world)

        def started(self, request: RunRequest) -> None:
            # Printed before the first step, so that the id of an interrupted run is known.
            name, config = request.scenario.name, request.scenario.config
            place = (config.world or config.chain) + ("" if config.block is None else f", block {config.block}")
            heading = f"{name} · {place} · seed {request.seed} · run {request.run_id}"
            print(heading, file=sys.stderr if as_json else sys.stdout, flush=True)
            self.request = request
            self.opening = bars.enter_context(ExitStack())  # until the first step is done
            if (accounts := opened_accounts(config)) >= MANY_ACCOUNTS:
                self.opening.enter_context(activity(f"opening the positions of {accounts:,} accounts"))
            self.advance = bars.enter_context(counted(f"running {name}", "steps", eta=True))

        def step_done(self, done: int, total: int) -> None:
            self.opening.close()
            self.advance(done, total)

        def finished(self, run: Run) -> None:
            bars.close()
            if as_json:
                print_json(document(run))
            elif run.status != "halted":
                for line in summary_lines(run, self.request.scenario.config):
                    print(f"  {line}")
                print_note(f"  {last_line(run)}")
                if stats:
                    print_statistics(run.specialise)

    return TerminalListener()


def opened_accounts(config: ScenarioConfig) -> int:
    """Number of accounts whose positions are opened before the first step."""
    from mayavi.scenarios.models.agents.lending import Borrower
    from mayavi.scenarios.models.agents.positions import Positions

    return sum(each.count for each in config.agents.values() if isinstance(each, Borrower | Positions))


def open_with_progress(world: WorldSource) -> Fork:
    """Open a world and show progress: a replica that does not exist yet is built."""
    if world.kind != "replica":
        with activity("opening the world"):
            return world.open()
    what = f"building the replica of {world.world or world.chain}" + (
        "" if world.block is None else f" at block {world.block}"
    )
    with counted(what, "steps") as advance:
        announced = is_styled(sys.stderr)  # the bar says it

        def progress(_: str, done: int, total: int) -> None:
            nonlocal announced
            if not announced:
                print(f"{what}, {total:,} steps; it is kept for the next time …", file=sys.stderr, flush=True)
                announced = True
            advance(done, total)

        return world.open(progress)


def document(run: Run) -> dict[str, object]:
    """Return a run as JSON data."""
    return {
        "run_id": run.run_id,
        "scenario": run.scenario,
        "chain": run.chain,
        "seed": str(run.seed),
        "steps": run.steps,
        "status": run.status,
        "digest": run.digest,
        "kpis": {row.name: {"value": row.value, "number": row.number, "unit": row.unit} for row in run.kpis.rows()},
        "notes": run.notes,
        "timings": dict(run.timings),
        "specialise": dict(run.specialise),
        "store": str(run.store_path),
        "error": run.error,
    }
