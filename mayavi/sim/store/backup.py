"""Copy of a store in one file, taken while runs are written."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from mayavi.errors import StoreFull, StoreUnreadable, UsageError
from mayavi.runs.write_errors import explain_write_errors
from mayavi.sim.store.database.opening import open_to_write
from mayavi.sim.store.database.schema import TABLES, literal
from mayavi.sim.store.database.views import owner_column, reading
from mayavi.sim.store.location import store_path

_ENDED = "(SELECT run_id FROM runs WHERE status <> 'running')"


def back_up_store(source: str | Path | None, target: Path) -> int:
    """Write the ended runs and all sweeps of a store to the new database `target`; return the number of runs.

    Merged and waiting rows are copied as they are at one moment. Runs that have not ended are left out. `target`
    appears when it is complete; an existing file raises `UsageError`.
    """
    import duckdb

    if target.exists():
        raise UsageError(f"'{target}' is there already", "name another place: a backup replaces nothing")
    with explain_write_errors(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".rows-") as place:
            files = _export(store_path(source), Path(place))
            connection = open_to_write(unfinished)
            try:
                for table, file in files.items():
                    connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM read_parquet({literal(str(file))})")
                row = connection.execute("SELECT count(*) FROM runs").fetchone()
                connection.execute("CHECKPOINT")
            finally:
                connection.close()
        unfinished.chmod(0o600)  # runs may reveal private positions
        os.replace(unfinished, target)
    except duckdb.IOException as error:
        if "No space" in str(error):
            raise StoreFull(f"no space is left in '{target.parent}'", "free some, or name another folder") from error
        raise StoreUnreadable(f"the backup failed: {str(error).splitlines()[0]}", "name another folder") from error
    finally:
        for file in (unfinished, unfinished.with_name(unfinished.name + ".wal")):
            with suppress(OSError):
                file.unlink(missing_ok=True)
    return int(row[0]) if row else 0


def _export(path: Path, folder: Path) -> dict[str, Path]:
    """Write every table to a Parquet file, all at one moment; return the files by table."""
    files = {table: folder / f"{table}.parquet" for table in TABLES}
    with reading(path) as connection:
        for table, file in files.items():
            ended = "" if table == "sweeps" else f" WHERE {owner_column(table)} IN {_ENDED}"
            connection.execute(f"COPY (SELECT * FROM {table}{ended}) TO {literal(str(file))} (FORMAT parquet)")
    return files
