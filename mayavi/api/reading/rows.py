"""Rows of a run as JSON, CSV or Arrow, written batch by batch to a temporary file and sent from there.

The store is open only while rows are read, however slowly a client takes them: open readers delay merges.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from mayavi.api.models.rows import RowsFormat
from mayavi.api.reading.row_query import RowQuery
from mayavi.sim.store import Store
from mayavi.sim.store.database.views import reading

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEDIA_TYPES: dict[RowsFormat, str] = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
}
_BATCH = 8192
_CHUNK = 256 * 1024
_IN_MEMORY = 4 * 2**20
"""Size up to which an answer stays in memory."""
_FORMULA = "'^[=+@\\t\\r-]'"
"""Beginnings of a text that a spreadsheet would execute."""
_NUMBER = "'^[+-]?[0-9.]+$'"


@dataclass(frozen=True, slots=True)
class RowsFile:
    """An answer with its size, the number of its rows and of all rows that fit."""

    file: IO[bytes]
    size: int
    rows: int
    total: int

    def chunks(self) -> Iterator[bytes]:
        """Yield the answer in parts, and remove it."""
        with self.file:
            while chunk := self.file.read(_CHUNK):
                yield chunk


def rows_file(store: Store, run_id: str, query: RowQuery, format: RowsFormat, limit: int, offset: int) -> RowsFile:
    """Read a page of rows."""
    file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  # closed when it is sent
    try:
        with reading(store.path) as connection:
            answer = connection.execute(query.counting, [run_id, *query.values]).fetchone()
            total = int(answer[0]) if answer else 0
            parameters = [run_id, *query.values, limit, offset]
            rows = _WRITERS[format](connection, query, parameters, file, total, offset)
    except BaseException:
        file.close()
        raise
    size = file.tell()
    file.seek(0)
    return RowsFile(file, size, rows, total)


def _write_json(
    connection: DuckDBPyConnection, query: RowQuery, parameters: list[Any], file: IO[bytes], total: int, offset: int
) -> int:
    """Write `RowsPage`. DuckDB writes the rows: floats keep every digit, NaN and infinities become null."""
    cells = [
        f"CASE WHEN isfinite({name}) THEN {name} END" if kind == "float" else name for name, kind in query.kinds.items()
    ]
    answer = connection.execute(query.selecting([f"json_array({', '.join(cells)})"]), parameters)
    file.write(f'{{"columns":{json.dumps(list(query.columns))},"rows":['.encode())
    count = 0
    while rows := answer.fetchmany(_BATCH):
        file.write((("," if count else "") + ",".join(row[0] for row in rows)).encode())
        count += len(rows)
    following = str(offset + count) if offset + count < total and count else None
    file.write(f'],"total":{total},"next":{json.dumps(following)}}}'.encode())
    return count


def _write_csv(
    connection: DuckDBPyConnection, query: RowQuery, parameters: list[Any], file: IO[bytes], total: int, offset: int
) -> int:
    """Write CSV with a header. Texts that a spreadsheet would take for a formula get an apostrophe in front."""
    from pyarrow import csv

    cells = [
        f"CASE WHEN regexp_matches({name}, {_FORMULA}) AND NOT regexp_matches({name}, {_NUMBER})"
        f" THEN '''' || {name} ELSE {name} END AS {name}"
        if kind == "text"
        else name
        for name, kind in query.kinds.items()
    ]
    batches = connection.execute(query.selecting(cells), parameters).to_arrow_reader(_BATCH)
    count = 0
    with csv.CSVWriter(file, batches.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _write_arrow(
    connection: DuckDBPyConnection, query: RowQuery, parameters: list[Any], file: IO[bytes], total: int, offset: int
) -> int:
    """Write an Arrow stream, with every value as it is stored."""
    import pyarrow as pa

    batches = connection.execute(query.selecting(query.columns), parameters).to_arrow_reader(_BATCH)
    count = 0
    with pa.ipc.new_stream(file, batches.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


_Writer = Callable[["DuckDBPyConnection", RowQuery, list[Any], IO[bytes], int, int], int]
_WRITERS: dict[RowsFormat, _Writer] = {"json": _write_json, "csv": _write_csv, "arrow": _write_arrow}
