"""Directory for everything that can be rebuilt: replicas, answers of nodes, bytecode."""

from __future__ import annotations

import os
import sys
from pathlib import Path


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
