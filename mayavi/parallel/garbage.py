"""Collect cyclic garbage once for a stretch of work that makes many objects which live to its end."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collected_once() -> Iterator[None]:
    """Context that collects cyclic garbage at its end alone, and nothing that is older than it.

    Where the process has frozen objects itself, they stay frozen, and no others are.
    """
    if not gc.isenabled():
        yield
        return
    freezes = not gc.get_freeze_count()
    if freezes:
        gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()
        if freezes:
            gc.unfreeze()
