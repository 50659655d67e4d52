"""`mayavi exposure`: the debt of a scenario's borrowers that is at risk on many price paths, while nobody acts."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayavi.cli.console.exit_codes import INTERRUPTED
from mayavi.cli.console.output import Column, print_json, print_note, print_table
from mayavi.cli.console.progress import Advance, activity, counted, duration
from mayavi.cli.position import block_of
from mayavi.cli.run import (
    MANY_ACCOUNTS,
    BlockOption,
    ChainOption,
    RpcUrlOption,
    ScenarioName,
    SetOption,
    SnapshotOption,
    SourceOption,
    StepsOption,
    open_with_progress,
    opened_accounts,
    plural,
)

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.scenarios.exposure.result import Exposure
    from mayavi.scenarios.loading import Scenario
    from mayavi.worlds.source import WorldSource


def exposure(
    scenario: ScenarioName,
    seeds: Annotated[
        str, typer.Option("--seeds", metavar="0:1000", help="Seeds of the price paths: 0:1000, 1,2,5 or both.")
    ] = "0:1000",
    population_seed: Annotated[
        int | None,
        typer.Option("--population-seed", metavar="N", help="Seed of the borrowers; by default the scenario's own."),
    ] = None,
    device: Annotated[
        str,
        typer.Option(
            "--device",
            metavar="cpu|cuda|emulated",
            help="Where to value accounts: cpu, a GPU (cuda, cuda:1, …), or emulated: GPU code on the CPU, slowly.",
        ),
    ] = "cpu",
    chain: ChainOption = None,
    steps: StepsOption = None,
    overrides: SetOption = None,
    source: SourceOption = None,
    snapshot: SnapshotOption = None,
    rpc_url: RpcUrlOption = None,
    block: BlockOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Value the borrowers of a scenario on many price paths while nobody acts: debt at risk, bad debt.

    The path of a seed is that of `mayavi run --seed`. The pool's own code values every account after every step, on the
    processor or on a GPU, with the same digest.
    """
    from mayavi.scenarios.exposure.exposure import exposure as analyse

    with ExitStack() as bars:
        listener = terminal_listener(bars, device, as_json=as_json)
        try:
            found = analyse(
                scenario,
                seeds=seeds,
                population_seed=population_seed,
                device=device,
                chain=chain,
                steps=steps,
                overrides=overrides or (),
                source=source,
                snapshot=snapshot,
                rpc_url=rpc_url,
                block=block_of(block),
                listener=listener,
            )
        except KeyboardInterrupt:
            bars.close()
            print(f"interrupted after {plural(listener.done, 'path')}: nothing is kept", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print_json(found.to_json())
    else:
        print_result(found)


def terminal_listener(bars: ExitStack, device: str, *, as_json: bool) -> Any:
    """Return a listener that prints heading and progress; its progress bar ends with `bars`."""
    from mayavi.scenarios.exposure.exposure import ExposureListener
    from mayavi.scenarios.figures.formatting import dollars

    class TerminalListener(ExposureListener):
        advance: Advance
        opening: ExitStack
        heading: str
        done = 0

        def open_world(self, world: WorldSource) -> Fork:
            return open_with_progress(world)

        def opening_positions(self, scenario: Scenario) -> None:
            self.heading = f"{scenario.name} · {scenario.config.world or scenario.config.chain}"
            self.opening = bars.enter_context(ExitStack())
            if (accounts := opened_accounts(scenario.config)) >= MANY_ACCOUNTS:
                self.opening.enter_context(activity(f"opening the positions of {accounts:,} accounts"))

        def planned(self, accounts: int, debt_usd: float, paths: int, steps: int) -> None:
            self.opening.close()
            who = f"{plural(accounts, 'account')} with {dollars(debt_usd)} of debt"
            where = f"{plural(paths, 'path')} of {plural(steps, 'step')}"
            heading = f"{self.heading} · {who} on {where}, nobody acts"
            print(heading, file=sys.stderr if as_json else sys.stdout, flush=True)
            if device != "cpu":
                bars.enter_context(activity(f"compiling their paths and valuing them on {device}"))
            self.advance = bars.enter_context(counted("valuing accounts", "paths", eta=device == "cpu"))

        def paths_done(self, done: int, total: int) -> None:
            self.done = done
            self.advance(done, total)

    return TerminalListener()


def print_result(found: Exposure) -> None:
    """Print the worst moments of the paths, their course, the worst paths, and notes."""
    from mayavi.scenarios.exposure.result import COLUMNS, STEP_COLUMNS
    from mayavi.scenarios.figures.formatting import dollars

    print()
    print_table([Column(title, right=bool(at)) for at, title in enumerate(COLUMNS)], found.rows())
    print()
    print_table([Column(title, right=True) for title in STEP_COLUMNS], found.step_rows())
    print()
    worst = found.worst(1)[0]
    if worst["liquidatable_debt"]:
        risk = (
            f"{dollars(worst['bad_debt'])} of bad debt, {dollars(worst['liquidatable_debt'])} that could be liquidated"
        )
        print(f"worst path: seed {worst['seed']}, with {risk}")
    else:
        print("no account can be liquidated on any path")
    for note in found.notes:
        print(f"note: {note}")
    values = f"{found.accounts * len(found.seeds) * found.steps:,} valuations"
    print_note(f"{values} in {duration(found.seconds) if found.seconds >= 1 else 'less than 1 s'}")
    print_note(f"digest {found.digest}")
    print_note("`mayavi sweep` runs the paths with borrowers and liquidators who act")
