"""One view over the database, its segments and running runs, with every row exactly once."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from mayavi.errors import StoreUnreadable
from mayavi.sim.store.database.opening import opened_to_read
from mayavi.sim.store.database.schema import ADDED, NULL_WHEN_EMPTY, SQL_TYPES, TABLES, VERSION, listed, literal
from mayavi.sim.store.database.segments import LiveRun, Segment, SegmentFolder

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@contextmanager
def reading(path: Path, tables: Collection[str] = tuple(TABLES)) -> Iterator[DuckDBPyConnection]:
    """Yield a connection whose `runs`, `actions`, `market_snapshots`, `kpis` … hold all rows at `path`, merged or not.

    Of tables not in `tables` it shows merged rows alone. Merges wait while the body runs, so keep it short. The body
    cannot change the database.
    """
    import _duckdb as duckdb

    folder = SegmentFolder(path)
    with folder.shared():
        live = folder.live_runs()  # before the segments: a run that ends now is in at least one of the two
        segments = folder.segments()
        try:
            with opened_to_read(path) as connection:
                _create_views(connection, tables, segments, live, folder.removed_runs())
                yield connection
        except (duckdb.IOException, duckdb.InvalidInputException) as error:
            for segment, file in damaged_files(segments):
                raise StoreUnreadable(
                    f"'{file}' is damaged: rows of run '{segment.run_id}' cannot be read",
                    f"move '{segment.folder}' away; all other rows are intact",
                ) from error
            raise


def tables_in(segments: Sequence[Segment]) -> list[str]:
    """Return the tables that `segments` have rows of."""
    return [table for table in TABLES if any(each.file(table).exists() for each in segments)]


def owner_column(table: str) -> str:
    """Return the column with the id of the run or sweep that a row belongs to."""
    return "sweep_id" if table == "sweeps" else "run_id"


def latest_sweeps(rows: str) -> str:
    """Return a SELECT of the latest row of each sweep, which is written when it starts and when it ends."""
    return f"SELECT * FROM {rows} QUALIFY row_number() OVER (PARTITION BY sweep_id ORDER BY updated_at DESC) = 1"


def rows_select(table: str, segments: Sequence[Segment]) -> str:
    """Return a SELECT of the rows of `table` in `segments`, with the columns of this version."""
    having = sorted((each for each in segments if each.file(table).exists()), key=lambda each: each.version)
    parts = []
    for version, group in groupby(having, key=lambda each: each.version):
        rows = f"SELECT * FROM read_parquet({listed([str(each.file(table)) for each in group])})"
        for target in range(version + 1, VERSION + 1):
            if columns := ADDED.get(target, {}).get(table):
                rows = f"SELECT *, {', '.join(f'{value} AS {name}' for name, value in columns.items())} FROM ({rows})"
        parts.append(f"SELECT {', '.join(_column(table, name) for name in TABLES[table])} FROM ({rows})")
    return " UNION ALL ".join(parts)


def interrupted_select(runs: Sequence[LiveRun]) -> str:
    """Return a SELECT that gives runs without an end as rows of `runs`."""
    return " UNION ALL ".join(
        "SELECT "
        + ", ".join(
            f"CAST({_sql_of(_live_value(run, name))} AS {SQL_TYPES[kind]}) AS {name}"
            for name, kind in TABLES["runs"].items()
        )
        for run in runs
    )


def _create_views(
    connection: DuckDBPyConnection,
    tables: Collection[str],
    segments: list[Segment],
    live: list[LiveRun],
    removed: list[str],
) -> None:
    query = "SELECT current_database(), (SELECT list(segment) FROM merged_segments)"
    ((name, merged),) = connection.execute(query).fetchall()
    waiting = [each for each in segments if each.name not in (merged or ()) and each.run_id not in removed]
    database = '"' + str(name).replace('"', '""') + '"'
    shown = _without_end(
        connection, f"{database}.main.runs", waiting, [run for run in live if run.run_id not in removed]
    )
    present = tables_in(waiting)
    for table in tables:
        columns = TABLES[table]
        kept = f" WHERE NOT list_contains({listed(removed)}, {owner_column(table)})" if removed else ""
        parts = [f"SELECT {', '.join(columns)} FROM {database}.main.{table}{kept}"]
        if table in present:
            parts.append(f"SELECT * FROM ({rows_select(table, waiting)}){kept}")
        if table == "runs" and shown:
            parts.append(interrupted_select(shown))
        rows = " UNION ALL ".join(parts)
        connection.execute(f"CREATE TEMP VIEW {table} AS {latest_sweeps(f'({rows})') if table == 'sweeps' else rows}")


def _without_end(
    connection: DuckDBPyConnection, runs: str, waiting: list[Segment], live: list[LiveRun]
) -> list[LiveRun]:
    """Return the live runs whose end is neither in the table `runs` nor in a segment."""
    if not live:
        return []
    ended = {run_id for each in waiting if each.file("runs").exists() for run_id in each.run_ids}
    names = listed([run.run_id for run in live])
    ended |= {
        run_id
        for (run_id,) in connection.execute(
            f"SELECT run_id FROM {runs} WHERE list_contains({names}, run_id)"
        ).fetchall()
    }
    return [run for run in live if run.run_id not in ended]


def _column(table: str, name: str) -> str:
    if (table, name) in NULL_WHEN_EMPTY:
        return f"nullif({name}, '') AS {name}"
    return f"CAST({name} AS {SQL_TYPES[TABLES[table][name]]}) AS {name}"


def _live_value(run: LiveRun, column: str) -> object:
    value = run.info.get(column)
    if column == "status":
        return "running" if run.alive else "interrupted"
    if column == "started_at" and isinstance(value, int | float):
        return Sql(f"make_timestamp({round(value * 1_000_000)})")
    if column in {"versions", "timings", "specialise"}:
        return json.dumps(value or {}, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    if value is None and TABLES["runs"][column] == "text" and ("runs", column) not in NULL_WHEN_EMPTY:
        return ""
    return value


class Sql(str):
    """Text that is an SQL expression, not to be quoted."""


def _sql_of(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, Sql):
        return value
    return literal(value) if isinstance(value, str) else str(value)


def damaged_files(segments: Sequence[Segment]) -> Iterator[tuple[Segment, Path]]:
    """Yield the files of `segments` that cannot be read."""
    import _duckdb as duckdb

    with duckdb.connect() as probe:
        for segment in segments:
            for file in sorted(segment.folder.glob("*.parquet")):
                try:
                    probe.execute(f"SELECT count(COLUMNS(*)) FROM read_parquet({literal(str(file))})").fetchall()
                except duckdb.Error:
                    yield segment, file
