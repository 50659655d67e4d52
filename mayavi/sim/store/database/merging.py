"""Merge segments into the database, in one short transaction, when no other process holds it.

A segment's name is committed together with its rows, and its files are deleted afterwards. A process that dies in
between leaves a segment that is known to be merged: no row is lost, and none counts twice.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mayavi.errors import StoreError
from mayavi.sim.store.database.opening import DatabaseInUse, note_state, open_to_write
from mayavi.sim.store.database.schema import COUNTS, TABLES, listed, literal
from mayavi.sim.store.database.segments import LiveRun, Segment, SegmentFolder
from mayavi.sim.store.database.views import (
    damaged_files,
    interrupted_select,
    latest_sweeps,
    owner_column,
    rows_select,
    tables_in,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MOST_BYTES = 64 * 1024 * 1024
_SMALL_BYTES = 16 * 1024 * 1024
"""Bytes of segments below which starting threads takes longer than they save."""
_SPARE_BYTES = 1024 * 1024
_PAUSE_S = 0.005


@dataclass(frozen=True, slots=True)
class Merged:
    """Result of a merge: segments merged, segments still waiting, and why those wait."""

    segments: int = 0
    waiting: int = 0
    why: str = ""


def merge(path: Path, *, patience_s: float = 0.0) -> Merged:
    """Merge segments into the database at `path`, waiting at most `patience_s` for other processes.

    A database held open by another process, or a full disk, is no error: the rows keep waiting. A damaged database or
    one of a newer version raises `StoreError`.
    """
    folder = SegmentFolder(path)
    deadline = time.monotonic() + patience_s
    if not _work_to_do(folder):
        return Merged()
    with folder.exclusive(patience_s) as locked:
        if not locked:
            return Merged(waiting=len(folder.segments()), why="others are reading")
        small = sum(_bytes(each) for each in folder.segments()) < _SMALL_BYTES
        while True:
            try:
                connection = open_to_write(path, small=small)
                break
            except DatabaseInUse:
                if time.monotonic() >= deadline:
                    return Merged(waiting=len(folder.segments()), why="another process has the database open")
                time.sleep(_PAUSE_S)
            except StoreError:
                raise
            except Exception as error:  # creating or migrating it failed, most likely for lack of space
                return Merged(waiting=len(folder.segments()), why=str(error).splitlines()[0])
        return _merge_into(connection, folder)


def _work_to_do(folder: SegmentFolder) -> bool:
    return bool(folder.segments() or folder.removed_runs() or any(not run.alive for run in folder.live_runs()))


def _merge_into(connection: DuckDBPyConnection, folder: SegmentFolder) -> Merged:
    import _duckdb as duckdb

    live = folder.live_runs()  # before the segments: a run that ends now is in at least one of the two
    segments = folder.segments()
    removed = folder.removed_runs()
    try:
        known = {name for (name,) in connection.execute("SELECT segment FROM merged_segments").fetchall()}
        done = [each for each in segments if each.name in known or each.run_id in removed]
        waiting = [each for each in segments if each not in done]
        todo = _affordable(waiting, folder)
        connection.execute("BEGIN")
        try:
            _insert(connection, todo)
        except (duckdb.IOException, duckdb.InvalidInputException):
            connection.execute("ROLLBACK")
            damaged = {segment.name for segment, _ in damaged_files(todo)}
            todo = [each for each in todo if each.name not in damaged]
            connection.execute("BEGIN")
            _insert(connection, todo)
        left = [each for each in waiting if each not in todo]
        later = {run_id for each in left for run_id in each.run_ids}
        ended = [run for run in live if not run.alive and run.run_id not in later]
        _end_interrupted(connection, [run for run in ended if run.run_id not in removed])
        _delete(connection, removed)
        names = listed([each.name for each in segments])
        connection.execute(f"DELETE FROM merged_segments WHERE NOT list_contains({names}, segment)")
        connection.execute("COMMIT")
    except duckdb.Error as error:
        return Merged(waiting=len(segments), why=str(error).splitlines()[0])
    finally:
        connection.close()
    note_state(folder.path)
    folder.drop([*done, *todo])
    folder.forget_removed(removed)
    folder.end_dead(ended)
    folder.delete_leftovers()
    return Merged(len(todo), len(left), "damaged, no space left, or for the next merge" if left else "")


def _affordable(segments: list[Segment], folder: SegmentFolder) -> list[Segment]:
    """Return the first of `segments`, as many as make a short transaction and fit on the disk."""
    room = shutil.disk_usage(folder.root).free // 3 - _SPARE_BYTES
    chosen: list[Segment] = []
    total = 0
    for segment in segments:
        total += _bytes(segment)
        if total > room or (chosen and total > _MOST_BYTES):
            break
        chosen.append(segment)
    return chosen


def _bytes(segment: Segment) -> int:
    return sum(file.stat().st_size for file in segment.folder.iterdir())


def _insert(connection: DuckDBPyConnection, segments: list[Segment]) -> None:
    tables = tables_in(segments)
    for table in tables:
        connection.execute(f"INSERT INTO {table} BY NAME {rows_select(table, segments)}")
    if "sweeps" in tables:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE latest AS {latest_sweeps('sweeps')}")
        connection.execute("DELETE FROM sweeps")
        connection.execute("INSERT INTO sweeps SELECT * FROM latest")
    if segments:
        values = ", ".join(f"({literal(each.name)})" for each in segments)
        connection.execute(f"INSERT INTO merged_segments VALUES {values}")


def _end_interrupted(connection: DuckDBPyConnection, runs: list[LiveRun]) -> None:
    if runs:
        connection.execute(
            f"INSERT INTO runs BY NAME SELECT * FROM ({interrupted_select(runs)}) AS live"
            " WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.run_id = live.run_id)"
        )
        counts = ", ".join(f"{name} = {count}" for name, count in COUNTS.items())
        names = listed([run.run_id for run in runs])
        connection.execute(f"UPDATE runs SET {counts} WHERE list_contains({names}, run_id) AND action_count IS NULL")


def _delete(connection: DuckDBPyConnection, removed: list[str]) -> None:
    if removed:
        for table in TABLES:
            connection.execute(f"DELETE FROM {table} WHERE list_contains({listed(removed)}, {owner_column(table)})")
