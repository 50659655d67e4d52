"""Progress on standard error, for whatever takes longer than a blink. Standard output never sees any of it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mayavi.cli.output import is_styled, is_terminal

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.status import Status

PATIENCE_S = 0.4


@contextmanager
def activity(message: str) -> Iterator[None]:
    """Say `message` while the body runs, if it runs long enough for a person to wonder.

    A spinner on a terminal, one plain line elsewhere and under NO_COLOR. A body that ends at once costs a timer and
    prints nothing.
    """
    spinner: list[Status] = []

    def speak() -> None:
        if not is_styled(sys.stderr):
            print(f"{message} …", file=sys.stderr, flush=True)
            return
        from rich.console import Console

        spinner.append(Console(stderr=True).status(f"{message} …"))
        spinner[0].start()

    timer = threading.Timer(PATIENCE_S, speak)
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
def counted(message: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """Yield `advance(done, total)` for a body that knows how far it is: a bar on a terminal, silence elsewhere.

    Under NO_COLOR a terminal gets one plain line instead of the bar.
    """
    began = time.monotonic()
    bar: list[Progress] = []
    said = False

    def advance(done: int, total: int) -> None:
        nonlocal said
        if not is_terminal(sys.stderr) or (not bar and time.monotonic() - began < PATIENCE_S):
            return
        if not is_styled(sys.stderr):
            if not said:
                print(f"{message}, {total:,} {unit} …", file=sys.stderr, flush=True)
                said = True
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        if not bar:
            shown = (TextColumn(message), BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeElapsedColumn())
            bar.append(Progress(*shown, console=Console(stderr=True), transient=True))
            bar[0].add_task(message, total=total)
            bar[0].start()
        bar[0].update(bar[0].task_ids[0], completed=done, total=total)

    try:
        yield advance
    finally:
        if bar:
            bar[0].stop()
