"""`SharedNote`: one file for the runs that a process has begun and not ended, which readers see as running.

Each run is a line of JSON. The file is locked while the process lives, like the file of a run of its own; short runs
take less time than a file each.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mayavi.errors import StoreUnreadable
from mayavi.runs.run_id import new_run_id
from mayavi.runs.write_errors import explain_write_errors

ENDING = ".runs"
"""How the names of such files end."""


class SharedNote:
    """The file of this process in the folder `live`; created with the first run."""

    def __init__(self, live: Path) -> None:
        self._live = live
        self._file = live / f"{new_run_id()}{ENDING}"
        self._descriptor: int | None = None

    def add(self, info: Mapping[str, object]) -> None:
        """Note that a run began."""
        with explain_write_errors(self._live):
            line = json.dumps(info, ensure_ascii=False).encode() + b"\n"
            if self._descriptor is None:
                self._descriptor = self._create(line)
            else:
                os.write(self._descriptor, line)
                os.utime(self._live)  # who watches the folder looks at its time alone

    def close(self, *, ended: bool) -> None:
        """Release the file, and delete it if all of its runs have `ended`; the others are interrupted then."""
        if self._descriptor is not None:
            if ended:
                self._file.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None

    def _create(self, line: bytes) -> int:
        """Create the file, locked and with its first run, atomically; return its descriptor."""
        unnamed = self._file.with_name(f".{self._file.name}")
        descriptor = os.open(unnamed, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(descriptor, line)
            unnamed.rename(self._file)
        except BaseException:
            os.close(descriptor)
            unnamed.unlink(missing_ok=True)
            raise
        return descriptor


def read_note(file: Path) -> list[dict[str, Any]]:
    """Return what a file says of its runs; a last line without an end is still being written, or never will be."""
    lines = file.read_text(encoding="utf-8").split("\n")[:-1]
    try:
        return [json.loads(line) for line in lines]
    except ValueError:
        raise StoreUnreadable(f"'{file}' is damaged", "delete it: the runs it describes are lost") from None


def keep_in_note(file: Path, run_ids: set[str]) -> None:
    """Keep `run_ids` alone in the file of a process that is dead; delete it if none is left."""
    kept = [info for info in read_note(file) if info["run_id"] in run_ids]
    if kept:
        unfinished = file.with_name(f".{file.name}")
        unfinished.write_text("".join(f"{json.dumps(info, ensure_ascii=False)}\n" for info in kept), encoding="utf-8")
        unfinished.rename(file)
    else:
        file.unlink(missing_ok=True)
