"""Pause garbage collection during work whose objects live until its end."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collected_once() -> Iterator[None]:
    """Pause garbage collection inside; collect once at the end, without visiting older objects.

    If `gc.freeze` was called before, nothing more is frozen, and those objects stay frozen.
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
