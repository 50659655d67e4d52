"""`StoreReader`: what the store holds of runs and sweeps, of which only new and changed ones are read whole."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mayavi.api.reading.runs.bodies import COLUMNS, STATE, StoredRun
from mayavi.sim.store import Store
from mayavi.sim.store.database.segments import SegmentFolder
from mayavi.sim.store.database.views import reading, rows_select

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

StoredSweep = tuple[str, str, int, str, datetime, datetime]
"""Id, scenario, number of runs, status, start and last change."""
KpiValues = tuple[str, str, float, str]
"""Name, exact value, number and unit."""

_FEW = 64
"""Changed runs up to which details are read along with what lists need."""
_CHOSEN = "WHERE list_contains($1::VARCHAR[], run_id)"
_LOSSES = "SELECT run_id, name, value, number, unit FROM kpis WHERE name = 'bad_debt'"
_SWEEPS = "SELECT sweep_id, scenario, plan, status, started_at, updated_at FROM sweeps"
_NO_LOSS = (None, None)


@dataclass(frozen=True, slots=True)
class WholeRun:
    """A run as its details show it: its row of `runs`, and its KPIs in order."""

    row: Mapping[str, Any]
    kpis: list[KpiValues]


@dataclass(frozen=True, slots=True)
class FoundRuns:
    """Runs that were read. `whole` has the few that were read with all their figures."""

    runs: dict[str, StoredRun] = field(default_factory=dict)
    whole: dict[str, WholeRun] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoreContents(FoundRuns):
    """New and changed runs, the ids of all, and all sweeps."""

    run_ids: frozenset[str] = frozenset()
    sweeps: dict[str, StoredSweep] = field(default_factory=dict)


class StoreReader:
    """Reads a store for the index of runs. One thread at a time calls it."""

    def __init__(self, store: Store) -> None:
        self._path = store.path
        self._folder = SegmentFolder(store.path)
        self._files: DuckDBPyConnection | None = None

    def contents(self, known: Mapping[str, StoredRun]) -> StoreContents:
        """Return all that has changed since `known` was read."""
        with reading(self._path) as connection:
            states = connection.execute(f"SELECT {', '.join(COLUMNS[:STATE])} FROM runs").fetchall()
            wanted = [each[0] for each in states if known.get(each[0], ())[:STATE] != each]
            chosen, parameters = (_CHOSEN, [wanted]) if len(wanted) <= _FEW else ("", [])
            found = _read_runs(connection, chosen, parameters) if wanted else FoundRuns()
            rows = connection.execute(_SWEEPS).fetchall()
        changed = set(wanted)
        runs = {run_id: run for run_id, run in found.runs.items() if run_id in changed}
        sweeps = {each[0]: (each[0], each[1], _planned(each[2]), *each[3:]) for each in rows}
        return StoreContents(runs, found.whole, frozenset(each[0] for each in states), sweeps)

    def ended(self, run_ids: Collection[str]) -> FoundRuns | None:
        """Return runs that have just ended, from the files they have written; None if not all are there.

        It takes a few milliseconds however large the store is, and waits for nobody.
        """
        import duckdb

        removed = set(self._folder.removed_runs())
        segments = [each for each in self._folder.segments() if each.run_id in run_ids]
        ends = [each for each in segments if each.file("runs").exists()]
        if removed.intersection(run_ids) or {each.run_id for each in ends} != set(run_ids):
            return None
        try:
            connection = self._connection()
            connection.execute(f"CREATE OR REPLACE TEMP VIEW runs AS {rows_select('runs', ends)}")
            kpis = rows_select("kpis", segments) or "SELECT '' AS run_id, 0 AS seq LIMIT 0"
            connection.execute(f"CREATE OR REPLACE TEMP VIEW kpis AS {kpis}")
            return _read_runs(connection, _CHOSEN, [list(run_ids)])
        except duckdb.Error:  # merged in this moment: the database has them
            return None

    def close(self) -> None:
        """Release the memory of DuckDB."""
        if self._files is not None:
            self._files.close()
            self._files = None

    def _connection(self) -> DuckDBPyConnection:
        """A database in memory, kept because opening one takes several times as long as reading a file."""
        import duckdb

        if self._files is None:
            self._files = duckdb.connect(config={"threads": 1, "enable_external_file_cache": False})
        return self._files


def _read_runs(connection: DuckDBPyConnection, chosen: str, parameters: Sequence[object]) -> FoundRuns:
    """Read what lists need; of few `chosen` runs also what their details need."""
    rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM runs {chosen}", parameters).fetchall()
    kpis: dict[str, list[KpiValues]] = {}
    query = f"SELECT run_id, name, value, number, unit FROM kpis {chosen} ORDER BY seq" if chosen else _LOSSES
    for run_id, name, value, number, unit in connection.execute(query, parameters).fetchall():
        kpis.setdefault(run_id, []).append((name, value, number, unit))
    whole = {}
    if chosen:
        answer = connection.execute(f"SELECT * FROM runs {chosen}", parameters)
        names = [column[0] for column in answer.description or ()]
        for values in answer.fetchall():
            row = dict(zip(names, values, strict=True))
            whole[row["run_id"]] = WholeRun(row, kpis.get(row["run_id"], []))
    return FoundRuns({row[0]: (*row, *_loss(kpis.get(row[0], ()))) for row in rows}, whole)


def _loss(kpis: Sequence[KpiValues]) -> tuple[float | None, str | None]:
    for name, _, number, unit in kpis:
        if name == "bad_debt":
            return (number if math.isfinite(number) else None), unit
    return _NO_LOSS


def _planned(plan: str) -> int:
    """Number of runs of a stored plan."""
    found = json.loads(plan)
    points, seeds = found.get("points"), found.get("seeds")
    return len(points) * len(seeds) if isinstance(points, list) and isinstance(seeds, list) else 0
