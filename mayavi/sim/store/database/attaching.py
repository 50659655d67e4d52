"""Attach databases to one DuckDB instance of this process, which stays: making an instance takes 12 ms, attaching 2."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from mayavi.sim.store.database.schema import literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class NotAttached(Exception):  # noqa: N818
    """DuckDB cannot attach the database, or there is none."""


class OpenElsewhere(NotAttached):
    """This process has the database open to write. Opening and closing its file would release that lock."""


class HeldByOther(NotAttached):
    """Another process has the database open to write."""


@dataclass
class _Attached:
    name: str
    readers: int = 0


@dataclass
class _Instance:
    connection: DuckDBPyConnection
    process: int
    lock: Lock = field(default_factory=Lock)
    databases: dict[Path, _Attached] = field(default_factory=dict)
    attached: int = 0
    """Number of databases attached so far."""


_instances: list[_Instance] = []
"""Of this process, and before it those of processes it was forked from, which are of no use in a fork."""
_lock = Lock()


@contextmanager
def attached(path: Path) -> Iterator[DuckDBPyConnection]:
    """Yield a connection that reads the database at `path` and sees its tables by their plain names.

    Raises `NotAttached`. Readers of the same database share it. After the last one it is detached: others may write.
    """
    path = path.absolute()
    instance = _instance()
    connection = _enter(instance, path)
    try:
        yield connection
    finally:
        connection.close()
        with instance.lock:
            database = instance.databases[path]
            database.readers -= 1
            if not database.readers:
                del instance.databases[path]
                instance.connection.execute(f"DETACH {database.name}")


def _enter(instance: _Instance, path: Path) -> DuckDBPyConnection:
    import _duckdb as duckdb

    with instance.lock:
        database = instance.databases.get(path)
        if database is None:
            instance.attached += 1
            database = _Attached(f"store_{instance.attached}")
            try:
                instance.connection.execute(f"ATTACH {literal(str(path))} AS {database.name} (TYPE duckdb, READ_ONLY)")
            except duckdb.Error as error:
                raise _reason(str(error)) from error
            instance.databases[path] = database
        database.readers += 1
        connection = instance.connection.cursor()
        connection.execute(f"USE {database.name}")
        return connection


def _reason(error: str) -> type[NotAttached]:
    if "already attached" in error:
        return OpenElsewhere
    return HeldByOther if "Could not set lock" in error else NotAttached


def _instance() -> _Instance:
    import _duckdb as duckdb

    with _lock:
        if not _instances or _instances[-1].process != os.getpid():
            _instances.append(_Instance(duckdb.connect(), os.getpid()))
        return _instances[-1]
