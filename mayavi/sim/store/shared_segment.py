"""`SharedSegment`: write the rows of several runs, which ended one after the other, as one segment.

Short runs take less time than five files each. Rows of a run that is not written yet are lost with the process; the run
is `interrupted` then, as if it had not ended.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from mayavi.runs.run_id import new_run_id
from mayavi.sim.store.database.parquet import Value
from mayavi.sim.store.database.segments import SegmentFolder

Table = list[list[Value]]
"""Columns of a table, in the order of the schema."""


class SharedSegment:
    """Rows of runs that ended, for the store at `path`; written by `write`, or at the end of the context."""

    def __init__(self, path: str | Path) -> None:
        self._folder = SegmentFolder(Path(path))
        self._tables: dict[str, Table] = {}
        self._runs: dict[str, int] = {}

    def add(self, run_id: str, tables: dict[str, Table], live: int) -> None:
        """Keep the last rows of a run; `live` is the descriptor that marks it as running."""
        self._runs[run_id] = live
        for name, columns in tables.items():
            if (known := self._tables.get(name)) is None:
                self._tables[name] = columns
                continue
            for whole, part in zip(known, columns, strict=True):
                whole += part

    def write(self) -> None:
        """Write the rows, and end the runs."""
        runs, tables = self._runs, self._tables
        self._runs, self._tables = {}, {}
        try:
            if runs:
                self._folder.write(new_run_id(), 0, tables, list(runs))
                for run_id in runs:
                    self._folder.close_live(run_id)
        finally:
            for live in runs.values():
                os.close(live)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.write()
