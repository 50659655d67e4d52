"""`SharedSegment`: write the rows of several sequential runs as one segment.

A short run takes less time than writing its six files. Unwritten rows are lost if the process dies; those runs are
then `interrupted`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from mayavi.records.figures import SnapshotColumns
from mayavi.records.parquet import Table
from mayavi.runs.run_id import new_run_id
from mayavi.sim.store.database.segments import SegmentFolder
from mayavi.sim.store.database.shared_note import SharedNote


class SharedSegment:
    """Rows of runs that ended, for the store at `path`; written by `write`, or at the end of the context."""

    def __init__(self, path: str | Path) -> None:
        self._folder = SegmentFolder(Path(path))
        self._tables: dict[str, Table] = {}
        self._note: SharedNote | None = None
        self._begun: list[str] = []
        self._ended: list[str] = []

    def begin(self, run_id: str, info: Mapping[str, object]) -> None:
        """Register a run that began and whose last rows will be written here."""
        if self._note is None:
            self._folder.create()
            self._note = self._folder.shared_note()
        self._note.add(info)
        self._begun.append(run_id)

    def add(self, run_id: str, tables: dict[str, Table]) -> None:
        """Keep the last rows of a run that began here."""
        self._ended.append(run_id)
        for name, table in tables.items():
            known = self._tables.setdefault(name, table)
            if known is table:
                continue
            if isinstance(known, SnapshotColumns) and isinstance(table, SnapshotColumns):
                known.extend(table)
            elif isinstance(known, list) and isinstance(table, list):
                for whole, part in zip(known, table, strict=True):
                    whole += part

    def write(self) -> None:
        """Write the rows and end the runs; a run without last rows is `interrupted`."""
        begun, ended, tables, note = self._begun, self._ended, self._tables, self._note
        self._begun, self._ended, self._tables, self._note = [], [], {}, None
        written = False
        try:
            if ended:
                self._folder.write(new_run_id(), 0, tables, ended)
            written = begun == ended
        finally:
            if note is not None:
                note.close(ended=written)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.write()
