"""Write new files: all or none, and never over an existing one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mayavi.errors import UsageError


def write_new(files: Mapping[Path, str], replaced: Mapping[Path, str] | None = None) -> None:
    """Write `files`, none of which may exist, and `replaced`, which may; `UsageError` before anything is written."""
    for path in files:
        if path.exists():
            raise UsageError(f"'{path}' exists already", "name another file, or remove it first")
    for path in replaced or {}:
        if path.exists() and not path.is_file():
            raise UsageError(f"'{path}' exists already", "name another file, or remove it first")
    for path in (*files, *(replaced or {})):
        if not path.parent.is_dir():
            hint = f"`mkdir -p {path.parent}` makes it"
            raise UsageError(f"there is no folder '{path.parent}' for '{path.name}'", hint)
    for path, text in {**files, **(replaced or {})}.items():
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"'{path}' cannot be written: {error.strerror}") from None
