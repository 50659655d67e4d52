"""Cache of node answers on disk: one SQLite file that any number of processes may share.

State is keyed by chain id and *block hash*, so that a value never belongs to another block than the requested one. Rows
are checked when they are read: code against its keccak, everything else against a checksum that covers the key. A row
that fails counts as absent and is fetched again. Writes are short transactions in WAL mode, so a killed process leaves
the file intact.

A failing cache never makes a fork fail: writes that fail (disk full, locked for too long) are logged and dropped, and
`CacheUnusable` lets the caller continue if no file can be created. A file that cannot be *read* is an error that names
it, since silently starting a new one could hide a failing disk.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

from mayavi.cache_directory import default_cache_dir as default_cache_dir
from mayavi.errors import StateError

_log = logging.getLogger("mayavi.cache")

SCHEMA_VERSION = 1
FILE_NAME = "rpc.sqlite3"
_APPLICATION_ID = 0x6D617961  # "maya"
_BUSY_MS = 10_000
_NOT_WRITABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL)
_ELSEWHERE = "set MAYAVI_CACHE_DIR to a directory that can be written"
_SCHEMA = (
    "CREATE TABLE nodes (url_hash BLOB PRIMARY KEY, chain_id INTEGER NOT NULL, seen_at REAL NOT NULL) WITHOUT ROWID",
    "CREATE TABLE canonical (chain_id INTEGER, number INTEGER, hash BLOB NOT NULL, seen_at REAL NOT NULL,"
    " PRIMARY KEY (chain_id, number)) WITHOUT ROWID",
    "CREATE TABLE blocks (id INTEGER PRIMARY KEY, chain_id INTEGER NOT NULL, hash BLOB NOT NULL, header TEXT NOT NULL,"
    " UNIQUE (chain_id, hash))",
    "CREATE TABLE ancestors (block INTEGER, number INTEGER, hash BLOB NOT NULL,"
    " PRIMARY KEY (block, number)) WITHOUT ROWID",
    "CREATE TABLE accounts (block INTEGER, address BLOB, state BLOB NOT NULL,"
    " PRIMARY KEY (block, address)) WITHOUT ROWID",
    "CREATE TABLE slots (block INTEGER, address BLOB, slot BLOB, value BLOB NOT NULL,"
    " PRIMARY KEY (block, address, slot)) WITHOUT ROWID",
    "CREATE TABLE code (hash BLOB PRIMARY KEY, code BLOB NOT NULL)",
)


class CacheError(StateError):
    """Unusable cache file."""


class CacheUnusable(CacheError):  # noqa: N818  (a name says what happened)
    """Folder in which no cache file can be created; no cached data is lost."""


class Cache:
    """Cache file. Open it with `Cache.open`; threads may share one object."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None) -> None:
        self.path = path
        self._connection = connection
        self._lock = threading.RLock()
        self._finalizer = weakref.finalize(self, connection.close)
        self._complained = False

    @classmethod
    def open(cls, directory: Path | str | None = None) -> Cache:
        """Open the cache in `directory` (default: `default_cache_dir()`), created if missing.

        Raises `CacheUnusable` if no file can be created there, another `CacheError` if the file is damaged, not a
        Mayavi cache, or written by a newer version.
        """
        folder = default_cache_dir() if directory is None else Path(directory)
        path = folder / FILE_NAME
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            connection = sqlite3.connect(path, timeout=_BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or error
            raise CacheUnusable(f"the cache '{path}' cannot be opened: {reason}", _ELSEWHERE) from None
        cache = cls(connection, path)
        try:
            cache._prepare()
        except BaseException:
            cache.close()
            raise
        return cache

    @classmethod
    def in_memory(cls) -> Cache:
        """Create a cache in memory."""
        cache = cls(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False), None)
        cache._prepare()
        return cache

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._finalizer()

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Chains, blocks and headers.

    def chain_of(self, url_hash: bytes) -> tuple[int, float] | None:
        """Cached chain id of the node with this address, and the time it was read (seconds since 1970)."""
        row = self.one("SELECT chain_id, seen_at FROM nodes WHERE url_hash = ?", url_hash)
        match row:
            case (int(chain_id), float(seen_at)):
                return chain_id, seen_at
        return None

    def remember_chain(self, url_hash: bytes, chain_id: int, seen_at: float) -> None:
        """Store the chain id of the node with this address."""
        row = (url_hash, chain_id, seen_at)
        self.write(lambda connection: connection.execute("INSERT OR REPLACE INTO nodes VALUES (?, ?, ?)", row))

    def canonical(self, chain_id: int, number: int) -> tuple[bytes, float] | None:
        """Cached hash of block `number` and when it was read, or None. `chain_id` may be `opening.numbering`."""
        row = self.one("SELECT hash, seen_at FROM canonical WHERE chain_id = ? AND number = ?", chain_id, number)
        match row:
            case (bytes(sealed), float(seen_at)):
                block_hash = unseal(b"%d/%d" % (chain_id, number), sealed, 32)
                return None if block_hash is None else (block_hash, seen_at)
        return None

    def remember_canonical(self, chain_id: int, number: int, block_hash: bytes, seen_at: float) -> None:
        """Store the hash of block `number`. Only for final blocks."""
        row = (chain_id, number, seal(b"%d/%d" % (chain_id, number), block_hash), seen_at)
        self.write(lambda connection: connection.execute("INSERT OR REPLACE INTO canonical VALUES (?, ?, ?, ?)", row))

    def forget_canonical(self, chain_id: int, number: int) -> None:
        """Delete the cached hash of block `number`, so that the next opening asks the node."""
        statement = "DELETE FROM canonical WHERE chain_id = ? AND number = ?"
        self.write(lambda connection: connection.execute(statement, (chain_id, number)))

    def header(self, chain_id: int, block_hash: bytes) -> dict[str, object] | None:
        """Cached header fields of a block, as the node sent them. The caller checks them against the hash."""
        row = self.one("SELECT header FROM blocks WHERE chain_id = ? AND hash = ?", chain_id, block_hash)
        try:
            content = json.loads(row[0]) if row and isinstance(row[0], str) else None
        except ValueError:
            return None
        return content if isinstance(content, dict) else None

    def remember_header(self, chain_id: int, block_hash: bytes, header: Mapping[str, object]) -> None:
        """Store a block's header fields."""
        row = (chain_id, block_hash, json.dumps(header, sort_keys=True, separators=(",", ":")))
        statement = (
            "INSERT INTO blocks (chain_id, hash, header) VALUES (?, ?, ?)"
            " ON CONFLICT (chain_id, hash) DO UPDATE SET header = excluded.header"
        )
        self.write(lambda connection: connection.execute(statement, row))

    # How the file is used.

    def _prepare(self) -> None:
        with self.reading() as connection:
            version = self._version(connection)  # before any change: the file may not be a Mayavi cache
            self._use_wal(connection)
            if version == SCHEMA_VERSION:
                return
            connection.execute("BEGIN IMMEDIATE")
            try:
                if self._version(connection) == 0:
                    for statement in _SCHEMA:
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        # the busy timeout does not cover every lock that the change to WAL takes: retry
        for attempt in range(50):
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or attempt == 49:
                    raise
                time.sleep(0.02)
        connection.execute("PRAGMA synchronous = NORMAL")

    def _version(self, connection: sqlite3.Connection) -> int:
        # a single statement: between two of them another process may create the cache
        version: int
        tables, application_id, version = connection.execute(
            "SELECT (SELECT count(*) FROM sqlite_master), (SELECT application_id FROM pragma_application_id),"
            " (SELECT user_version FROM pragma_user_version)"
        ).fetchone()
        if tables and application_id != _APPLICATION_ID:
            raise CacheError(
                f"'{self.path}' is a database, but no mayavi cache", "move it away or set MAYAVI_CACHE_DIR elsewhere"
            )
        if version > SCHEMA_VERSION:
            raise CacheError(
                f"the cache '{self.path}' has version {version}, this mayavi knows {SCHEMA_VERSION}",
                "use the newer mayavi that wrote it, or set MAYAVI_CACHE_DIR to another directory",
            )
        return version

    def one(self, query: str, *values: object) -> tuple[object, ...] | None:
        """The first row of a query, or None."""
        with self.reading() as connection:
            row: tuple[object, ...] | None = connection.execute(query, values).fetchone()
            return row

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection, for reading. Damage raises `CacheError`."""
        with self._lock:
            try:
                yield self._connection
            except sqlite3.Error as error:
                raise self._explained(error) from None

    def write(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Run `work` in one transaction. Failures caused by the disk or another process are logged and dropped."""
        with self._lock:
            connection = self._connection
            try:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    work(connection)
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
            except sqlite3.OperationalError as error:
                if not self._complained:
                    _log.warning("the cache '%s' cannot be written: %s; going on without", self.path, error)
                    self._complained = True
            except sqlite3.Error as error:
                raise self._explained(error) from None

    def _explained(self, error: sqlite3.Error) -> CacheError:
        if _is_busy(error):
            return CacheError(
                f"the cache '{self.path}' is locked by another process",
                "end the process that holds it, or set MAYAVI_CACHE_DIR to another directory",
            )
        if (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _NOT_WRITABLE:
            return CacheUnusable(f"the cache '{self.path}' cannot be used: {error}", _ELSEWHERE)
        return CacheError(
            f"the cache '{self.path}' is damaged: {error}",
            "delete it together with the -wal and -shm files beside it; it fills again from the node",
        )


def seal(key: bytes, value: bytes) -> bytes:
    """Append a checksum over `key` and `value` to `value`."""
    return value + crc32(value, crc32(key)).to_bytes(4, "big")


def unseal(key: bytes, sealed: object, length: int) -> bytes | None:
    """Return the value in `sealed`; None if its length or checksum is wrong."""
    if not isinstance(sealed, bytes) or len(sealed) != length + 4:
        return None
    value = sealed[:length]
    return value if seal(key, value) == sealed else None


def _is_busy(error: sqlite3.Error) -> bool:
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
