"""Backup of the service: its database and the store, taken while it works."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from mayavi.api.database import FILE
from mayavi.errors import StoreUnreadable, UsageError
from mayavi.runs.write_errors import explain_write_errors
from mayavi.sim.store.backup import back_up_store

STORE_FILE = "runs.duckdb"


@dataclass(frozen=True, slots=True)
class Backup:
    """Files of a backup."""

    database: Path
    store: Path
    jobs: int
    runs: int


def back_up(data: Path, store: str | Path | None, folder: Path) -> Backup:
    """Copy the database of the service in `data`, then the store, to the new or empty `folder`.

    The order matters: a run that ends in between is finished in the copied store and unfinished in the copied queue,
    which finds it there when it starts again. The other order would lose it.
    """
    source = data / FILE
    if not source.is_file():
        raise UsageError(f"'{data}' holds no service: '{FILE}' is missing", "name its folder with `--data`")
    with explain_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"'{folder}' is not empty", "name a new folder: a backup replaces nothing")
    target = folder / FILE
    with closing(sqlite3.connect(source.resolve().as_uri() + "?mode=ro", uri=True)) as original, _new(target) as copy:
        original.backup(copy)
        verdict = copy.execute("PRAGMA integrity_check").fetchone()[0]
        if verdict != "ok":
            raise StoreUnreadable(f"'{source}' is damaged: {verdict}", "restore an earlier backup")
        jobs = int(copy.execute("SELECT count(*) FROM jobs").fetchone()[0])
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
    return Backup(target, folder / STORE_FILE, jobs, back_up_store(store, folder / STORE_FILE))


def _new(path: Path) -> closing[sqlite3.Connection]:
    """Create a database that only its owner may read: it has the hashes of keys."""
    path.touch(mode=0o600)
    return closing(sqlite3.connect(path))
