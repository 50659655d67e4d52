"""Stop a training at the end of a rollout on Ctrl-C."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stopping() -> Iterator[Callable[[], None]]:
    """Yield `stop()`, to be called between rollouts; it raises KeyboardInterrupt after a Ctrl-C.

    The first Ctrl-C waits for the current rollout, which is kept; the second stops at once.
    """
    asked = moving = False

    def stop() -> None:
        nonlocal moving
        moving = True
        if asked:
            raise KeyboardInterrupt

    def note(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked or not moving:
            raise KeyboardInterrupt
        asked = True
        print("stopping after this rollout; again to stop at once", file=sys.stderr, flush=True)

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread, which gets all signals
        yield stop
        return
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
