"""`mayavi sensitivity`: move each assumption of a scenario alone and rank the effects on a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.output import Column, print_json, print_note, print_table
from mayavi.cli.console.progress import duration
from mayavi.cli.position import block_of
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

if TYPE_CHECKING:
    from mayavi.scenarios.sensitivity.result import Sensitivity
    from mayavi.scenarios.sweep.plan import Plan
    from mayavi.scenarios.sweep.request import SweepRequest


def sensitivity(
    scenario: ScenarioName,
    figure: Annotated[
        str | None, typer.Option("--figure", metavar="KPI", help="The figure to compare; by default bad_debt.")
    ] = None,
    seeds: Annotated[
        str, typer.Option("--seeds", metavar="0:20", help="The seeds of the base and of every move: 0:20, 1,2,5.")
    ] = "0:20",
    jobs: JobsOption = None,
    assumptions: Annotated[
        list[str] | None,
        typer.Option("--assumption", metavar="A.B=LOW,HIGH", help="Values of your own for an assumption; repeatable."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="A.B", help="Move only these: a path, its beginning, a pattern; repeatable."),
    ] = None,
    chain: ChainOption = None,
    steps: StepsOption = None,
    overrides: SetOption = None,
    source: SourceOption = None,
    snapshot: SnapshotOption = None,
    rpc_url: RpcUrlOption = None,
    block: BlockOption = None,
    store: StoreOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Move each assumption of a scenario alone, low and high, and print which ones decide a figure.

    The base and every move run with the same seeds, so that differences are paired. Every run is stored, and a stored
    run is not repeated: the same command continues an interrupted analysis.
    """
    from contextlib import ExitStack

    from mayavi.cli.printing.sweep_terminal import SweepTerminal, interrupted
    from mayavi.scenarios.sensitivity.analysis import sensitivity as analyse
    from mayavi.scenarios.sweep.stored_runs import stored_anywhere

    class Terminal(SweepTerminal):
        doing = "moving assumptions"

        def describe(self, request: SweepRequest, plan: Plan) -> str:
            return f"{len(plan.points) - 1:,} moves and the base with {len(plan.seeds):,} seeds each"

    with ExitStack() as bars:
        listener = Terminal(bars, as_json=as_json)
        try:
            found = analyse(
                scenario,
                figure=figure,
                seeds=seeds,
                jobs=jobs,
                assumptions=assumptions or (),
                only=only or (),
                chain=chain,
                steps=steps,
                overrides=overrides or (),
                source=source,
                snapshot=snapshot,
                rpc_url=rpc_url,
                block=block_of(block),
                store=store,
                listener=listener,
            )
        except KeyboardInterrupt:
            bars.close()
            if listener.plan is None:
                raise
            kept = len(stored_anywhere(listener.request, listener.plan))  # workers may have stored more than reported
            raise interrupted(kept, listener.plan) from None
    if as_json:
        print_json(found.to_json())
    else:
        print_result(found)


def print_result(found: Sensitivity) -> None:
    """Print the base, the tornado table, what was skipped, and notes."""
    from mayavi.scenarios.sensitivity.result import COLUMNS

    print()
    print(found.headline())
    print()
    right = {"difference", "of base", "95 % interval"}
    print_table([Column(title, right=title in right) for title in COLUMNS], found.rows())
    print()
    for line in found.skipped_lines():
        print(line)
    if found.skipped:
        print_note("--assumption PATH=LOW,HIGH moves one to values of your own")
    for note in found.notes:
        print(f"note: {note}")
    before = f" ({found.resumed:,} were stored before)" if found.resumed else ""
    print_note(f"{found.runs:,} runs{before} · {duration(found.seconds)} · another --figure needs no new run")
