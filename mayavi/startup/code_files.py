"""Files of compiled code in Mayavi's cache directory, each valid for one version of Python and one key."""

from __future__ import annotations

import marshal
import os
import sys
from contextlib import suppress
from importlib.util import MAGIC_NUMBER
from pathlib import Path

from mayavi.cache_directory import default_cache_dir, write_cache_file


def code_folder() -> str | None:
    """Folder of the files for this interpreter; None without a home directory."""
    try:
        return f"{default_cache_dir()}/bytecode/{sys.implementation.cache_tag}-{sys.flags.optimize}"
    except RuntimeError:
        return None


def cache_in_use() -> bool:
    """Whether the cache directory holds anything. A command that is refused at once must not create it."""
    try:
        with os.scandir(default_cache_dir()) as entries:
            return any(True for _ in entries)
    except (OSError, RuntimeError):
        return False


def read_code(path: str, key: str = "") -> object:
    """Return what was written to `path` with `key`; None if there is nothing, or if it is damaged."""
    head = MAGIC_NUMBER + f"{key}\n".encode()
    try:
        with open(path, "rb") as file:
            content = file.read()
        found: object = marshal.loads(content[len(head) :]) if content.startswith(head) else None
    except (OSError, EOFError, ValueError, TypeError):
        return None
    return found


def write_code(path: str, value: object, key: str = "") -> None:
    """Write `value` to `path`, atomically; a file that cannot be written costs time at the next start, nothing else."""
    content = MAGIC_NUMBER + f"{key}\n".encode() + marshal.dumps(value)  # type: ignore[arg-type]
    with suppress(OSError):
        write_cache_file(Path(path), content)
