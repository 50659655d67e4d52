"""Directory for everything that can be rebuilt: replicas, answers of nodes, bytecode. Its files are replaced whole."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

PART = ".part"
"""Suffix of files that are being written; their names begin with a dot."""
ABANDONED_SECONDS = 3600
"""Age from which such a file belongs to a writer that was killed: the longest write takes seconds."""

_tidied: set[Path] = set()
"""Folders that this process has written to."""


def default_cache_dir() -> Path:
    """`MAYAVI_CACHE_DIR`, else `mayavi` in the user's cache directory (`~/.cache` on Linux)."""
    named = os.environ.get("MAYAVI_CACHE_DIR", "").strip()
    if named:
        return Path(named).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "mayavi"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "").strip()
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "mayavi" / "Cache"
    xdg = os.environ.get("XDG_CACHE_HOME", "").strip()
    return (Path(xdg) if xdg else Path.home() / ".cache") / "mayavi"


def write_cache_file(path: Path, content: bytes) -> None:
    """Replace `path` at once, and create its folder if needed. A reader sees the old file or the new one.

    The first write of a process to a folder removes what killed writers have left there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.parent not in _tidied:
        _tidied.add(path.parent)
        remove_abandoned(path.parent)
    part = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}{PART}")
    try:
        part.write_bytes(content)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def remove_abandoned(folder: Path) -> None:
    """Remove unfinished files of killed writers from `folder`."""
    latest = time.time() - ABANDONED_SECONDS
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") and entry.name.endswith(PART):
                with suppress(OSError):  # another process was faster
                    if entry.stat().st_mtime < latest:
                        Path(entry).unlink()
