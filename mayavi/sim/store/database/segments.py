"""The segment folder beside the database: rows not merged yet, running runs, and runs to remove.

DuckDB allows one writing process and then no other, and a shell that an analyst left open counts as one. So runs never
wait for the database: they write rows as *segments* into `<database>.segments/`, each a folder of Parquet files that
appears atomically, by renaming. Segments are merged into the database when no other process holds it (`merging`); until
then readers combine both (`views`). `locks` orders the two. Starting, writing and
ending a run needs no lock.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mayavi.errors import StoreError, StoreFutureVersion, StoreUnreadable
from mayavi.records.parquet import Table, table_bytes
from mayavi.runs.write_errors import ELSEWHERE, explain_write_errors
from mayavi.sim.store.database.locks import MergeLocks, is_locked
from mayavi.sim.store.database.schema import TABLES, VERSION
from mayavi.sim.store.database.shared_note import ENDING, SharedNote, keep_in_note, read_note

_ABANDONED_S = 600.0
_TOGETHER = "runs.txt"
"""File that lists the runs of a segment of several."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows of one run, or of several that ended together, that may not be in the database yet.

    `name` is unique for all time. `run_id` is the run, or the sweep, or the name of several runs together.
    """

    folder: Path
    run_id: str
    version: int

    @property
    def name(self) -> str:
        """Name under which the database notes that it was merged."""
        return self.folder.name

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The runs that it has rows of."""
        try:
            return tuple((self.folder / _TOGETHER).read_text(encoding="ascii").split())
        except FileNotFoundError:
            return (self.run_id,)

    def file(self, table: str) -> Path:
        """Path of its rows of `table`; the file exists if there are any."""
        return self.folder / f"{table}.parquet"


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A run that began and has not ended here. `alive`: the process that writes it is running.

    `file` says so, of this run or of several.
    """

    file: Path
    info: dict[str, Any]
    alive: bool

    @property
    def run_id(self) -> str:
        """Id of the run."""
        return str(self.info["run_id"])


class SegmentFolder:
    """The segment folder of the database at `path`; created on the first write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root = path.with_name(path.name + ".segments")
        self.rows = self.root / "rows"
        self.live = self.root / "live"
        self.removed = self.root / "removed"
        self._locks = MergeLocks(self.root)

    def create(self) -> None:
        """Create the folder."""
        with explain_write_errors(self.root):
            for folder in (self.rows, self.live, self.removed):
                if not os.path.isdir(folder):  # noqa: PTH112 - each run asks, and this is the fastest way
                    folder.mkdir(parents=True, exist_ok=True)

    # Rows

    def write(self, owner: str, number: int, tables: Mapping[str, Table], run_ids: Sequence[str] = ()) -> Segment:
        """Write rows of the run `owner` as its segment `number`, atomically; of several runs if `run_ids` are given.

        Each table is given as its columns, in the order of the schema.
        """
        name = f"{owner}.{number:06d}.v{VERSION}"
        unfinished, folder = self.rows / f".{name}", self.rows / name
        with explain_write_errors(self.root):
            try:
                unfinished.mkdir()
                if run_ids:
                    (unfinished / _TOGETHER).write_text("\n".join(run_ids), encoding="ascii")
                for table, rows in tables.items():
                    with open(unfinished / f"{table}.parquet", "wb") as file:
                        file.write(table_bytes(rows, TABLES[table]))
                        file.flush()
                        os.fsync(file.fileno())
                unfinished.rename(folder)
            except BaseException:
                shutil.rmtree(unfinished, ignore_errors=True)
                raise
        return Segment(folder, owner, VERSION)

    def segments(self) -> list[Segment]:
        """Return all segments, oldest run first."""
        found = [_segment_at(self.rows / name) for name in _names(self.rows) if not name.startswith(".")]
        return sorted(found, key=lambda each: each.name)

    def drop(self, segments: Sequence[Segment]) -> None:
        """Delete segments whose rows are in the database; each disappears atomically, by renaming."""
        for segment in segments:
            with suppress(FileNotFoundError):
                gone = segment.folder.with_name(f".{segment.name}")
                segment.folder.rename(gone)
                shutil.rmtree(gone, ignore_errors=True)

    def delete_leftovers(self) -> None:
        """Delete files that dead processes left half written or half deleted."""
        for folder in (self.rows, self.live):
            for name in _names(folder):
                with suppress(OSError):
                    if name.startswith(".") and time.time() - (folder / name).stat().st_mtime > _ABANDONED_S:
                        shutil.rmtree(folder / name, ignore_errors=True)
                        (folder / name).unlink(missing_ok=True)

    # Running runs

    def open_live(self, run_id: str, info: Mapping[str, object]) -> int:
        """Note that `run_id` began; return a descriptor that keeps the note's file locked while it is open.

        The lock is released when the process ends, even if it is killed, so readers recognise runs that still run.
        """
        with explain_write_errors(self.live):
            unnamed = self.live / f".{run_id}.{os.getpid()}"
            descriptor = os.open(unnamed, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with open(descriptor, "wb", closefd=False) as file:
                    file.write(json.dumps(info, ensure_ascii=False).encode())
                os.link(unnamed, self.live / f"{run_id}.json")
            except FileExistsError:
                os.close(descriptor)
                raise StoreError(
                    f"a run '{run_id}' has begun already", "`new_run_id()` gives each run its own id"
                ) from None
            except BaseException:
                os.close(descriptor)
                raise
            finally:
                with suppress(OSError):
                    unnamed.unlink()
        return descriptor

    def close_live(self, run_id: str) -> None:
        """Note that `run_id` ended; its end is in a segment or in the database."""
        with suppress(FileNotFoundError):
            (self.live / f"{run_id}.json").unlink()

    def shared_note(self) -> SharedNote:
        """Return a note of several runs that this process begins."""
        return SharedNote(self.live)

    def live_runs(self) -> list[LiveRun]:
        """Return runs without an end, killed ones included. Call it before `segments`, which may hold ends."""
        found = []
        for name in _names(self.live):
            if name.startswith(".") or not name.endswith((".json", ENDING)):
                continue
            file = self.live / name
            with suppress(FileNotFoundError):
                alive = is_locked(file)
                infos = read_note(file) if name.endswith(ENDING) else [_read_info(file)]
                found += [LiveRun(file, info, alive) for info in infos]
        return sorted(found, key=lambda each: each.run_id)

    def end_dead(self, ended: Sequence[LiveRun]) -> None:
        """Forget runs of dead processes that are interrupted, or whose end is in the database."""
        gone = {run.run_id for run in ended}
        for file in {run.file for run in ended}:
            with suppress(FileNotFoundError):
                if file.name.endswith(ENDING):
                    keep_in_note(file, {str(info["run_id"]) for info in read_note(file)} - gone)
                else:
                    file.unlink()

    # Runs to remove

    def mark_removed(self, run_id: str) -> None:
        """Hide `run_id` from readers; the next merge deletes its rows."""
        self.create()
        with explain_write_errors(self.removed):
            (self.removed / run_id).touch()

    def removed_runs(self) -> list[str]:
        """Return hidden runs whose rows no merge has deleted yet."""
        return sorted(_names(self.removed))

    def forget_removed(self, run_ids: Sequence[str]) -> None:
        """Forget hidden runs whose rows are deleted."""
        for run_id in run_ids:
            with suppress(FileNotFoundError):
                (self.removed / run_id).unlink()

    # Locks between readers and merges

    @contextmanager
    def shared(self, patience_s: float = 30.0) -> Iterator[None]:
        """Keep merges out while the body runs."""
        with self._locks.shared(patience_s) as locked:
            if not locked:
                raise StoreError(f"'{self.path}' is being merged for more than {patience_s:.0f} seconds", "try again")
            yield

    @contextmanager
    def exclusive(self, patience_s: float) -> Iterator[bool]:
        """Yield whether the body may merge: no reader and no other merge is active."""
        with self._locks.exclusive(patience_s) as locked:
            yield locked


def _segment_at(folder: Path) -> Segment:
    owner, _, rest = folder.name.partition(".")
    version = rest.partition(".v")[2]
    if not version.isdigit():
        raise StoreUnreadable(f"'{folder}' is not a segment of a run", "move it away")
    if int(version) > VERSION:
        raise StoreFutureVersion(
            f"'{folder}' has schema version {version}, this mayavi knows versions up to {VERSION}",
            f"use the newer mayavi that wrote it, or {ELSEWHERE}",
        )
    return Segment(folder, owner, int(version))


def _read_info(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise StoreUnreadable(f"'{file}' is damaged", "delete it: the run it describes is lost") from None
    return found


def _names(folder: Path) -> list[str]:
    try:
        return [each.name for each in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
