"""Pause garbage collection during work whose objects live until its end."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collected_once() -> Iterator[None]:
    """Pause garbage collection inside the context and collect once at its end, without visiting older objects.

    If the process has frozen objects itself, nothing more is frozen, and theirs stay frozen.
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
