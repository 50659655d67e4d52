"""Progress messages on standard error, never on standard output."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Protocol

from mayavi.cli.console.output import is_styled, is_terminal

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.status import Status


class Advance(Protocol):
    """Callback that reports progress; `note` is shown beside it."""

    def __call__(self, done: int, total: int, note: str = "") -> None:
        """Report `done` of `total`."""


PATIENCE_S = 0.4
REPORT_EVERY_S = 10.0


@contextmanager
def activity(message: str) -> Iterator[None]:
    """Show `message` while the body runs, unless it ends within `PATIENCE_S`.

    A spinner on a terminal, one plain line elsewhere and under NO_COLOR.
    """
    spinner: list[Status] = []

    def show_message() -> None:
        if not is_styled(sys.stderr):
            print(f"{message} …", file=sys.stderr, flush=True)
            return
        from rich.console import Console

        spinner.append(Console(stderr=True).status(f"{message} …"))
        spinner[0].start()

    timer = threading.Timer(PATIENCE_S, show_message)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if spinner:
            spinner[0].stop()


@contextmanager
def counted(message: str, unit: str, *, eta: bool = False, clock: list[float] | None = None) -> Iterator[Advance]:
    """Yield `advance(done, total)`, which draws a bar on a terminal and is silent elsewhere.

    Under NO_COLOR a terminal gets one plain line instead. With `eta` the bar shows the remaining time, and without a
    bar a line does so every `REPORT_EVERY_S`; parts of one job share `clock`, the time of the last such line.
    """
    if eta and not is_styled(sys.stderr):
        yield forecast(message, unit, clock)
        return
    began = time.monotonic()
    bar: list[Progress] = []
    printed = False

    def advance(done: int, total: int, note: str = "") -> None:
        nonlocal printed
        if not is_terminal(sys.stderr) or (not bar and time.monotonic() - began < PATIENCE_S):
            return
        if not is_styled(sys.stderr):
            if not printed:
                print(f"{message}, {total:,} {unit} …", file=sys.stderr, flush=True)
                printed = True
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as Remaining

        if not bar:
            shown = [TextColumn(message), BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeElapsedColumn()]
            if eta:
                shown += [TextColumn("left"), Remaining(), TextColumn("{task.fields[note]}")]
            bar.append(Progress(*shown, console=Console(stderr=True), transient=True))
            bar[0].add_task(message, total=total, note=note)
            bar[0].start()
        bar[0].update(bar[0].task_ids[0], completed=done, total=total, note=note)

    try:
        yield advance
    finally:
        if bar:
            bar[0].stop()


@contextmanager
def in_parts() -> Iterator[Callable[[str], Advance]]:
    """Yield `say(what)`, which ends the previous part of a job and returns `advance` of the next."""
    clock = [time.monotonic()]
    with ExitStack() as now:

        def say(what: str) -> Advance:
            now.close()
            return now.enter_context(counted(what, "parts" if "optimum" in what else "episodes", eta=True, clock=clock))

        yield say


def forecast(message: str, unit: str, clock: list[float] | None = None) -> Advance:
    """Return `advance` that prints `message: 312 of 1,000 runs, about 2 min left`, at most every `REPORT_EVERY_S`.

    The first call sets the starting count; work done before it is not used for the estimate.
    """
    began = time.monotonic()
    last_report = clock if clock is not None else [began]
    first: int | None = None

    def advance(done: int, total: int, note: str = "") -> None:
        nonlocal first, began
        now = time.monotonic()
        if first is None:
            first, began = done, now
        if now - last_report[0] < REPORT_EVERY_S or done <= first:
            return
        last_report[0] = now
        left = duration((total - done) * (now - began) / (done - first))
        how = f", {note}" if note else ""
        print(f"{message}: {done:,} of {total:,} {unit}{how}, about {left} left", file=sys.stderr, flush=True)

    return advance


def duration(seconds: float) -> str:
    """Format a duration: `40 s`, `7 min`, `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"
