"""Keep what was compiled: `compiled/<key>.json` in the cache directory."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from mayavi.cache_directory import default_cache_dir, write_cache_file


def read_kept(key: str) -> dict[str, Any] | None:
    """Return what was kept under `key`, unless a file that it was compiled from has changed."""
    try:
        found = json.loads(_path(key).read_bytes())
        imported = found["imported"].items()
        same = all(hashlib.sha256(Path(file).read_bytes()).hexdigest() == digest for file, digest in imported)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return found if same else None


def write_kept(key: str, compiled: dict[str, Any]) -> None:
    """Keep `compiled`, with the hashes of the files it was compiled from in `imported`. Full disks are no error."""
    with suppress(OSError):
        write_cache_file(_path(key), json.dumps(compiled).encode())


def _path(key: str) -> Path:
    return default_cache_dir() / "compiled" / f"{key}.json"
