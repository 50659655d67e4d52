"""Ctrl-C for work that can be stopped well at certain moments, and badly at any other."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stopping() -> Iterator[Callable[[], None]]:
    """Yield `stop()`, called between two rollouts: it stops there when the user asked for it.

    The first interruption waits for the rollout under way, so that it is kept; the second does not.
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
    except ValueError:  # not the main thread, which alone is interrupted
        yield stop
        return
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
