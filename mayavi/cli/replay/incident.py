"""`mayavi replay incident`: run the scenarios of a named incident and compare them with the record."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.output import print_json
from mayavi.cli.console.progress import Advance, counted
from mayavi.cli.replay.options import RequestsOption
from mayavi.cli.run import StoreOption, open_with_progress

if TYPE_CHECKING:
    from contextlib import ExitStack

    from mayavi.evm.fork import Fork
    from mayavi.scenarios.incidents.real_blocks import BlockSettings
    from mayavi.scenarios.run.request import RunListener, RunRequest
    from mayavi.scenarios.run.result import Run
    from mayavi.worlds.source import WorldSource

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def incident(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `mayavi replay incidents`, or a folder.")],
    counterfactual: Annotated[
        list[str] | None,
        typer.Option(
            "--counterfactual",
            metavar="A.B=C",
            help="Run again with one value of the scenario changed, and print its effect; repeatable."
            " `mayavi replay incidents NAME` lists the keys.",
        ),
    ] = None,
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="Only this run of the incident.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all random numbers.")] = 0,
    cases: Annotated[
        Path | None,
        typer.Option(
            "--cases",
            metavar="DIR",
            help="Folder of complete records; by default MAYAVI_CASES, else ../shared beside the checkout.",
        ),
    ] = None,
    rpc: Annotated[
        str | None,
        typer.Option(
            "--rpc",
            "--rpc-url",
            metavar="URL",
            help="Read the complete record from the real blocks of this node, and execute them.",
        ),
    ] = None,
    record_only: Annotated[
        bool, typer.Option("--record-only", help="With --rpc: read the record, and execute no real block.")
    ] = False,
    history: Annotated[
        Path | None,
        typer.Option(
            "--history", metavar="FILE", help="Database of executed blocks; by default data/runs/history.duckdb."
        ),
    ] = None,
    max_requests: RequestsOption = None,
    facts_only: Annotated[
        bool, typer.Option("--facts-only", help="Use the facts of the incident, even where a complete record is there.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replay an incident on a replica: recorded figures, simulated figures and their difference, asset by asset.

    Every run is stored like that of `mayavi run`. Counterfactuals use the same seed, so that a difference is the effect
    of the change. With --rpc, the recorded transactions are executed in their places in the real blocks and compared
    with their receipts; a call that was interrupted continues. Exit code 1 if a block differs from the chain, or if a
    figure that the replay promises to reproduce is not.
    """
    from contextlib import ExitStack

    from mayavi.cli.printing.incident import document, print_report
    from mayavi.errors import UsageError
    from mayavi.scenarios.incidents.cases import default_cases
    from mayavi.scenarios.incidents.replay import replay_incident

    chosen = {"--cases": cases is not None, "--rpc": rpc is not None, "--facts-only": facts_only}
    if sum(chosen.values()) > 1:
        named = " and ".join(name for name, given in chosen.items() if given)
        raise UsageError(f"{named} contradict each other", "leave all but one of them out")
    if cases is not None and not cases.is_dir():
        raise UsageError(f"there is no folder '{cases}'", "name the folder of complete records")
    if rpc is None and (record_only or history or max_requests):
        raise UsageError(
            "--record-only, --history and --max-requests are for real blocks", "name a node with --rpc URL"
        )
    folder = None if facts_only or rpc else cases or default_cases()
    with ExitStack() as bars:
        report = replay_incident(
            name,
            counterfactuals=counterfactual or (),
            only=run,
            seed=seed,
            store=store,
            cases=folder,
            rpc_url=rpc,
            blocks=None if rpc is None or record_only else _block_settings(bars, history, max_requests),
            listener=_listener(bars),
        )
    if as_json:
        print_json(document(report))
    else:
        print_report(report)
    if not report.exact:
        raise typer.Exit(1)


def incidents(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show what a counterfactual can change in this incident.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the named incidents: date, protocol, what happened, and how many figures are compared.

    With NAME: its runs, and every key that `--counterfactual` can change, with its value.
    """
    from mayavi.cli.printing.incident import print_keys, print_list, summary
    from mayavi.scenarios.incidents.keys import counterfactual_keys
    from mayavi.scenarios.incidents.registry import incidents as all_incidents
    from mayavi.scenarios.incidents.registry import load_incident

    if name is not None:
        incident = load_incident(name)
        keys = counterfactual_keys(incident)
        if as_json:
            print_json({**summary(incident), "keys": keys})
        else:
            print_keys(incident, keys)
        return
    found = all_incidents()
    if as_json:
        print_json({"incidents": [summary(each) for each in found]})
    else:
        print_list(found)


def _block_settings(bars: ExitStack, history: Path | None, max_requests: int | None) -> BlockSettings:
    """Return settings that show the progress of the real blocks on standard error."""
    from mayavi.cli.replay.history import history_path
    from mayavi.scenarios.incidents.real_blocks import BlockSettings

    shown: list[Advance] = []

    def progress(done: int, total: int) -> None:
        if not shown:
            shown.append(bars.enter_context(counted("executing real blocks", "blocks", eta=True)))
        shown[0](done, total)
        if done == total:
            bars.close()

    return BlockSettings(history_path(history), max_requests, progress=progress)


def _listener(bars: ExitStack) -> RunListener:
    """Return a listener that shows the progress of each run on standard error."""
    from mayavi.scenarios.run.request import RunListener

    class IncidentListener(RunListener):
        advance: Advance

        def open_world(self, world: WorldSource) -> Fork:
            return open_with_progress(world)

        def started(self, request: RunRequest) -> None:
            print(f"{request.scenario.name} · seed {request.seed} · run {request.run_id}", file=sys.stderr, flush=True)
            self.advance = bars.enter_context(counted(f"running {request.scenario.name}", "steps", eta=True))

        def step_done(self, done: int, total: int) -> None:
            self.advance(done, total)

        def finished(self, run: Run) -> None:
            del run
            bars.close()

    return IncidentListener()
