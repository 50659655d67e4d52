"""The SQLite database of the service: keys, sessions, jobs and events."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mayavi.api.queue.schema import JOB_TABLES
from mayavi.api.security.schema import KEY_TABLES
from mayavi.errors import StoreFutureVersion

FILE = "service.sqlite"
MIGRATIONS: tuple[str, ...] = (KEY_TABLES + JOB_TABLES,)
"""SQL scripts by version, from 1. A released script is never changed: add another."""
_PATIENCE_S = 10.0


class ServiceDatabase:
    """One connection a thread, in WAL mode: readers never wait for a writer."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = folder / FILE
        self._local = threading.local()
        self._lock = threading.Lock()
        self._writes = 0
        self._connections: list[sqlite3.Connection] = []
        with self.writing() as connection:
            self._migrate(connection)

    def reading(self) -> sqlite3.Connection:
        """Return the connection of this thread."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(self.path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False)
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA foreign_keys = ON")
            self._local.connection = connection
            with self._lock:
                self._connections.append(connection)
        return connection

    def change(self) -> tuple[sqlite3.Connection, int, int]:
        """Return a value that differs once anything was written, by this or another process."""
        connection = self.reading()
        return connection, connection.execute("PRAGMA data_version").fetchone()[0], self._writes

    @contextmanager
    def writing(self, *, lasting: bool = True) -> Iterator[sqlite3.Connection]:
        """Yield the connection of this thread in a transaction: all of the body is stored, or nothing.

        With `lasting=False` a change survives a crash of the process, but not of the machine: it does not wait for the
        disk.
        """
        connection = self.reading()
        connection.execute(f"PRAGMA synchronous = {'FULL' if lasting else 'NORMAL'}")
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
        self._writes += 1

    def close(self) -> None:
        """Close the connections of all threads; the next use of a thread opens another."""
        with self._lock:
            self._local = threading.local()
            for connection in self._connections:
                connection.close()
            self._connections.clear()

    def _migrate(self, connection: sqlite3.Connection) -> None:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > len(MIGRATIONS):
            raise StoreFutureVersion(
                f"'{self.path}' has version {version}, and this Mayavi knows {len(MIGRATIONS)}",
                "update Mayavi, or name another folder with `--data`",
            )
        for number, script in enumerate(MIGRATIONS[version:], version + 1):
            for statement in filter(str.strip, script.split(";")):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
