"""Export runs to Parquet or CSV, one file per table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from mayavi.errors import StoreFull, UnknownName, UsageError
from mayavi.runs.write_errors import explain_write_errors
from mayavi.sim.store.database.schema import TABLES, listed, literal
from mayavi.sim.store.database.views import reading

Format = Literal["parquet", "csv"]

OPTIONS = {"parquet": "FORMAT parquet, COMPRESSION zstd", "csv": "FORMAT csv, HEADER"}
EXPORTED = tuple(table for table in TABLES if "run_id" in TABLES[table])


def export_runs(
    path: Path, run_ids: Sequence[str], folder: Path, format: str = "parquet", *, overwrite: bool = False
) -> list[Path]:
    """Write the rows of `run_ids` to `folder`, one file per table, and return the files.

    Exact integers stay text. An existing file raises `UsageError` unless `overwrite`; a failed export leaves no file.
    """
    if format not in OPTIONS:
        raise UnknownName.of("format", format, OPTIONS, "runs are exported as parquet or csv")
    files = [folder / f"{table}.{format}" for table in EXPORTED]
    for file in files:
        if file.exists() and not overwrite:
            raise UsageError(f"'{file}' is there already", "name another folder, or overwrite it with `--overwrite`")
    with explain_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    import duckdb

    unfinished = [file.with_name(f".{file.name}.{os.getpid()}") for file in files]
    try:
        with reading(path) as connection:
            for table, file in zip(EXPORTED, unfinished, strict=True):
                order = "run_id, seq" if "seq" in TABLES[table] else "run_id"
                connection.execute(
                    f"COPY (SELECT * FROM {table} WHERE list_contains({listed(list(run_ids))}, run_id)"
                    f" ORDER BY {order}) TO {literal(str(file))} ({OPTIONS[format]})"
                )
        with explain_write_errors(folder):
            for file, final in zip(unfinished, files, strict=True):
                os.replace(file, final)
    except duckdb.IOException as error:
        if "No space" in str(error):
            raise StoreFull(f"no space is left in '{folder}'", "free some, or name another folder") from error
        why = str(error).splitlines()[0].removeprefix("IO Error: ")
        raise UsageError(f"cannot write to '{folder}': {why}", "name a folder that can be written") from error
    finally:
        for file in unfinished:
            with suppress(OSError):
                file.unlink(missing_ok=True)
    return files
