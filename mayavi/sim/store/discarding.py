"""Discard a run without a proper end, so that it can be recorded again under the same id."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from mayavi.errors import StoreError
from mayavi.runs.run_id import check_id
from mayavi.sim.rows import RunStatus
from mayavi.sim.store.database.merging import merge
from mayavi.sim.store.database.schema import literal
from mayavi.sim.store.database.segments import SegmentFolder
from mayavi.sim.store.database.views import reading

_PAUSE_S = 0.05


def run_status(path: Path, run_id: str) -> tuple[RunStatus, str] | None:
    """Return status and error of the run with the full id `run_id`; None if the store does not have it."""
    with reading(path) as connection:
        row = connection.execute(f"SELECT status, error FROM runs WHERE run_id = {literal(run_id)}").fetchone()
    return None if row is None else (row[0], row[1] or "")


def hide_run(path: Path, run_id: str) -> None:
    """Hide a run that nobody records any more; the next merge deletes its rows."""
    SegmentFolder(path).mark_removed(check_id(run_id))


def discard_run(path: Path, run_id: str, *, patience_s: float = 60.0) -> None:
    """Delete all rows of a run, of which there may be none, and return when they are gone.

    The run may then begin again with another `first_segment`: segments that were merged are known by their names.
    Raises `StoreError` if a process still records the run, or the database is in use for longer than `patience_s`.
    """
    folder = SegmentFolder(path)
    if any(run.run_id == run_id and run.alive for run in folder.live_runs()):
        raise StoreError(f"run '{run_id}' is still running", "end it first")
    hide_run(path, run_id)
    deadline = time.monotonic() + patience_s
    while run_id in folder.removed_runs():
        why = merge(path, patience_s=min(1.0, patience_s)).why
        if time.monotonic() >= deadline and run_id in folder.removed_runs():
            raise StoreError(
                f"the rows of run '{run_id}' cannot be discarded: {why}", "close other readers of the store"
            )
        time.sleep(_PAUSE_S)
    for leftover in folder.live.glob(f".{run_id}.*"):  # of a process that died while it began the run
        with suppress(OSError):
            leftover.unlink()
