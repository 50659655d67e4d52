"""`StoreStamp`: whether the files of the store have changed, by a few `stat` calls."""

from __future__ import annotations

import os
import time
from pathlib import Path

from mayavi.sim.store.database.segments import SegmentFolder

Stamp = tuple[tuple[int, int, int], ...]

_MISSING = (0, 0, 0)
_SETTLED_NS = 50_000_000
"""Age of a change from which on another one gets another time, whatever the clock of the file system."""


class StoreStamp:
    """Files that change whenever a run begins, writes rows, ends, is merged or removed."""

    def __init__(self, path: Path) -> None:
        folder = SegmentFolder(path)
        self._files = (
            os.fspath(path),
            os.fspath(path.with_name(path.name + ".wal")),
            os.fspath(folder.rows),
            os.fspath(folder.live),
            os.fspath(folder.removed),
        )

    def read(self) -> Stamp:
        """Return inode, size and time of the files. Take it before what it stands for is read."""
        return tuple(map(_state, self._files))


def is_settled(stamp: Stamp) -> bool:
    """Whether a later change would give another stamp, despite coarse clocks of file systems."""
    now = time.time_ns()
    return all(now - changed > _SETTLED_NS for _, _, changed in stamp)


def _state(file: str) -> tuple[int, int, int]:
    try:
        found = os.stat(file)  # noqa: PTH116  # a Path would take twice as long
    except OSError:
        return _MISSING
    return found.st_ino, found.st_size, found.st_mtime_ns
