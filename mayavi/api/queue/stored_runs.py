"""Runs as the store has them: what lists show of a run, and what its details show.

Ids are literals of the queries: a parameter makes DuckDB import pandas, which takes a second and 100 MB.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.errors import MayaviError
from mayavi.sim.store.database.schema import listed
from mayavi.sim.store.database.segments import SegmentFolder
from mayavi.sim.store.database.views import rows_select

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

COLUMNS = (
    "run_id",
    "status",
    "digest",
    "epoch_us(started_at)",
    "action_count",
    "sweep_id",
    "scenario",
    "chain",
    "seed",
    "steps",
    "error",
    "seconds",
    "failed_count",
    "raised_count",
    "md5(scenario_text)",
    r"regexp_extract(scenario_text, '(?m)^world: (\S+)$', 1)",
)
"""Columns of `runs` that lists need; the first five tell whether a stored run has changed."""
STATE = 5
FINGERPRINT = COLUMNS.index("md5(scenario_text)")
WORLD = len(COLUMNS) - 1

StoredRun = tuple[Any, ...]
"""Values of `COLUMNS`, then bad debt and its unit, both None for a run without that KPI."""
KpiValues = tuple[str, str, float, str]
"""Name, exact value, number and unit."""

_LOSSES = "SELECT run_id, name, value, number, unit FROM kpis WHERE name = 'bad_debt'"


@dataclass(frozen=True, slots=True)
class WholeRun:
    """A run as its details show it: its row of `runs`, and its KPIs in order."""

    row: Mapping[str, Any]
    kpis: list[KpiValues]


@dataclass(frozen=True, slots=True)
class FoundRuns:
    """Runs that were read. `whole` has those that were read with all their figures."""

    runs: dict[str, StoredRun] = field(default_factory=dict)
    whole: dict[str, WholeRun] = field(default_factory=dict)


def read_runs(connection: DuckDBPyConnection, run_ids: list[str] | None) -> FoundRuns:
    """Read what lists need of all runs, or of a few, and then also what their details need."""
    chosen = "" if run_ids is None else f"WHERE list_contains({listed(run_ids)}, run_id)"
    rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM runs {chosen}").fetchall()
    kpis: dict[str, list[KpiValues]] = {}
    query = f"SELECT run_id, name, value, number, unit FROM kpis {chosen} ORDER BY seq" if chosen else _LOSSES
    for run_id, name, value, number, unit in connection.execute(query).fetchall():
        kpis.setdefault(run_id, []).append((name, value, number, unit))
    whole = {}
    if chosen:
        answer = connection.execute(f"SELECT * FROM runs {chosen}")
        names = [column[0] for column in answer.description or ()]
        for values in answer.fetchall():
            row = dict(zip(names, values, strict=True))
            whole[row["run_id"]] = WholeRun(row, kpis.get(row["run_id"], []))
    return FoundRuns({row[0]: (*row, *_loss(kpis.get(row[0], ()))) for row in rows}, whole)


def written_run(path: Path, run_id: str) -> FoundRuns | None:
    """Return a run that this process has just recorded, from the files it wrote; None if they cannot be read.

    It takes a few milliseconds however large the store is, and waits for nobody. Who needs the run and gets None, reads
    the store: the files may be merged already.
    """
    import duckdb

    try:
        segments = [each for each in SegmentFolder(path).segments() if each.run_id == run_id]
        tables = {table: rows_select(table, segments) for table in ("runs", "kpis")}
        if not tables["runs"]:
            return None
        connection = _files()
        for table, rows in tables.items():
            empty = "SELECT '' AS run_id, 0 AS seq, '' AS name, '' AS value, 0.0 AS number, '' AS unit LIMIT 0"
            connection.execute(f"CREATE OR REPLACE TEMP VIEW {table} AS {rows or empty}")
        return read_runs(connection, [run_id])
    except (duckdb.Error, OSError, MayaviError):
        return None


@cache
def _files() -> DuckDBPyConnection:
    """A database in memory, kept because opening one takes several times as long as reading a file."""
    import duckdb

    return duckdb.connect(config={"threads": 1, "enable_external_file_cache": False})


def _loss(kpis: Sequence[KpiValues]) -> tuple[float | None, str | None]:
    for name, _, number, unit in kpis:
        if name == "bad_debt":
            return (number if math.isfinite(number) else None), unit
    return None, None
