"""Heading, progress and interruption of a command that makes many runs, on the terminal."""

from __future__ import annotations

import shlex
import sys
from contextlib import AbstractContextManager, ExitStack

import typer

from mayavi.cli.console.exit_codes import INTERRUPTED
from mayavi.cli.console.progress import Advance, activity, counted
from mayavi.cli.run import open_with_progress
from mayavi.scenarios.sweep.plan import Plan
from mayavi.scenarios.sweep.request import SweepListener, SweepRequest
from mayavi.worlds.source import WorldSource


class SweepTerminal(SweepListener):
    """Listener that prints heading and progress, and keeps request and plan; its progress bar ends with `bars`."""

    request: SweepRequest
    plan: Plan | None = None
    advance: Advance
    doing = ""
    """What the progress bar says is done."""

    def __init__(self, bars: ExitStack, *, as_json: bool) -> None:
        super().__init__()
        self.bars = bars
        self.heading_file = sys.stderr if as_json else sys.stdout

    def describe(self, request: SweepRequest, plan: Plan) -> str:
        """Say which runs are planned, for the heading."""
        raise NotImplementedError

    def open_world(self, world: WorldSource) -> None:
        """Open the world with a progress bar."""
        open_with_progress(world)

    def planning(self) -> AbstractContextManager[None]:
        """Show that the plan is being made."""
        return activity("planning")

    def planned(self, request: SweepRequest, plan: Plan) -> None:
        """Print the heading and start the progress bar."""
        name, config = request.scenarios[0].name, request.scenarios[0].config
        place = config.world or config.chain
        print(
            f"{name} · {place} · {self.describe(request, plan)} · {plan.sweep_id}", file=self.heading_file, flush=True
        )
        self.request, self.plan = request, plan
        self.advance = self.bars.enter_context(counted(self.doing, "runs", eta=True))

    def runs_done(self, done: int, total: int) -> None:
        """Advance the progress bar."""
        self.advance(done, total)


def interrupted(kept: int, plan: Plan) -> typer.Exit:
    """Print what is kept of an interrupted command and how to continue; return the exit to raise."""
    print(f"interrupted: {kept:,} of {len(plan.tasks):,} runs are done and kept", file=sys.stderr)
    command = shlex.join(["mayavi", *sys.argv[1:]])
    print(f"  the same command continues with the rest: {command}", file=sys.stderr)
    return typer.Exit(INTERRUPTED)
