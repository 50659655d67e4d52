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
    from rich.live import Live
    from rich.progress import Progress


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
    spinner: list[Live] = []

    def show_message() -> None:
        if not is_styled(sys.stderr):
            print(f"{message} …", file=sys.stderr, flush=True)
            return
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner

        shown = Spinner("dots", text=f"{message} …", style="status.spinner")
        console = Console(stderr=True)
        spinner.append(
            Live(shown, console=console, refresh_per_second=12.5, transient=True, redirect_stdout=_on_terminal())
        )
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

    Under NO_COLOR a terminal gets one plain line instead. With `eta` the bar shows the remaining time. Without a bar a
    line does so every `REPORT_EVERY_S`, and a last one says that it is done; parts of one job share `clock`, the time
    of the last such line.
    """
    if eta and not is_styled(sys.stderr):
        report = Forecast(message, unit, clock)
        yield report
        report.finish()
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
            console = Console(stderr=True)
            bar.append(Progress(*shown, console=console, transient=True, redirect_stdout=_on_terminal()))
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


def _on_terminal() -> bool:
    """Whether standard output is the terminal that shows the bar; only then is output printed above it."""
    return is_terminal(sys.stdout)


class Forecast:
    """Progress in plain lines: `message: 312 of 1,000 runs, about 2 min left`, at most every `REPORT_EVERY_S`.

    The first call sets the starting count; work done before it is not used for the estimate.
    """

    def __init__(self, message: str, unit: str, clock: list[float] | None = None) -> None:
        self.message, self.unit = message, unit
        self.began = time.monotonic()
        self.last_report = clock if clock is not None else [self.began]
        self.first: int | None = None
        self.done = self.total = 0
        self.reported = False

    def __call__(self, done: int, total: int, note: str = "") -> None:
        """Report `done` of `total`."""
        now = time.monotonic()
        self.done, self.total = done, total
        if self.first is None:
            self.first, self.began = done, now
        if now - self.last_report[0] < REPORT_EVERY_S or done <= self.first:
            return
        self.last_report[0], self.reported = now, True
        left = duration((total - done) * (now - self.began) / (done - self.first))
        how = f", {note}" if note else ""
        self._print(f"{how}, about {left} left")

    def finish(self) -> None:
        """Print the last count if one was printed before, so that no estimate of the time left ends the output."""
        if self.reported:
            self._print(f", after {duration(time.monotonic() - self.began)}")

    def _print(self, end: str) -> None:
        print(f"{self.message}: {self.done:,} of {self.total:,} {self.unit}{end}", file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """Format a duration: `40 s`, `7 min`, `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"
