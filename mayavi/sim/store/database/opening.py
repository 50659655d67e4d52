"""Open the database to merge or to read, also while another process has it open.

A process that has the database open for writing, a shell for instance, keeps out all others. Readers then use a copy.
The copy is consistent: no merge changes a database that is held open, and a copy during which the file changed is
repeated.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mayavi.errors import StoreError, StoreFull, StoreUnreadable
from mayavi.sim.store.database.attaching import HeldByOther, NotAttached, OpenElsewhere, attached
from mayavi.sim.store.database.schema import VERSION, bring_up_to_date, version_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MAGIC, _MAGIC_AT = b"DUCK", 8
_ELSEWHERE = "move it away, or name another file with `--store` or MAYAVI_STORE"
_SETTLED_NS = 20_000_000
_COPY_PATIENCE_S = 10.0
_NEW_DATABASE: dict[str, int | str] = {"default_block_size": 65_536}
"""Block size in bytes of databases that are created. With DuckDB's own of 256 kB each merge of a short run writes more:
the file of one run takes 2.1 MB instead of 0.7 MB. A large database has the same size and speed with both."""
_LEFT_OUT = "fsst,zstd,dict_fsst,alp,alprd"
"""Compression methods that small merges do not try. Trying them takes a third of a merge; without them a database is a
tenth larger."""

Stamp = tuple[tuple[int, ...], ...]

_copies: dict[Path, tuple[Stamp, Path]] = {}
"""Last copy of each database, with the stamp of the state it shows."""


def refuse_unusable(path: Path) -> None:
    """Raise `StoreError` if `path` cannot hold runs: no database of ours, or one of a newer version.

    A database unchanged since a merge of this version is not opened again.
    """
    if not is_database(path) or _note(path) == _noted(path):
        return
    try:
        connection = _connect(path, read_only=True)
    except DatabaseInUse:
        return
    try:
        version_of(connection, path)
    finally:
        connection.close()


def note_state(path: Path) -> None:
    """Note that the database in its current state has this version."""
    with suppress(OSError):
        unnamed = _note_file(path).with_suffix(f".{os.getpid()}")
        unnamed.write_text(_note(path), encoding="utf-8")
        os.replace(unnamed, _note_file(path))


def _note(path: Path) -> str:
    return f"{VERSION} {_stamp(path)}"


def _noted(path: Path) -> str:
    try:
        return _note_file(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _note_file(path: Path) -> Path:
    return path.with_name(path.name + ".segments") / "state"


def is_database(path: Path) -> bool:
    """Whether a database is at `path`; raise `StoreUnreadable` if something else is there."""
    try:
        with open(path, "rb") as file:
            head = file.read(_MAGIC_AT + len(_MAGIC))
    except FileNotFoundError:
        return False
    except IsADirectoryError:
        raise StoreUnreadable(
            f"'{path}' is a folder, not a database", f"name a file in it: `{path}/runs.duckdb`"
        ) from None
    except NotADirectoryError:
        raise StoreUnreadable(
            f"'{path}' lies below a file", "name another place with `--store` or MAYAVI_STORE"
        ) from None
    except OSError as error:
        why = error.strerror or str(error)
        raise StoreUnreadable(f"cannot read '{path}': {why[:1].lower()}{why[1:]}", _ELSEWHERE) from error
    if head[_MAGIC_AT:] != _MAGIC:
        raise StoreUnreadable(f"'{path}' is not a DuckDB database", _ELSEWHERE)
    return True


class DatabaseInUse(Exception):  # noqa: N818
    """Another process holds the database."""


def open_to_write(path: Path, *, small: bool = False) -> DuckDBPyConnection:
    """Open the database at `path` for writing, created or migrated to this version; raise `DatabaseInUse`.

    `small`: little is written. Then one thread is enough, and fewer compression methods are tried. Where this process
    has the database open already, it keeps the settings it has.
    """
    import _duckdb as duckdb

    is_database(path)
    connection = _connect(path, read_only=False, config=_NEW_DATABASE | ({"threads": 1} if small else {}))
    try:
        if small and connection.execute("SELECT current_setting('threads')").fetchall() == [(1,)]:
            with suppress(duckdb.Error):  # a DuckDB that lacks one of them
                connection.execute(f"SET disabled_compression_methods = '{_LEFT_OUT}'")
        bring_up_to_date(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def opened_to_read(path: Path) -> Iterator[DuckDBPyConnection]:
    """Yield the database at `path` with this version's tables, which are empty if the file does not exist.

    Call it while no merge can happen. Nothing at `path` is changed.
    """
    connection = None
    try:
        with attached(path) as attached_connection:
            if version_of(attached_connection, path) == VERSION:
                yield attached_connection
                return
    except HeldByOther:
        pass
    except NotAttached as error:
        is_there = isinstance(error, OpenElsewhere) or is_database(path)
        connection = _open_to_read(path) if is_there else _open_empty(path)
    if connection is None:
        with attached(_copy_of(path)) as copy:
            yield copy
        return
    try:
        yield connection
    finally:
        connection.close()


def _open_empty(path: Path) -> DuckDBPyConnection:
    import _duckdb as duckdb

    connection = duckdb.connect()
    bring_up_to_date(connection, path)
    return connection


def _open_to_read(path: Path) -> DuckDBPyConnection | None:
    """Open the database itself; None if only a copy can be read."""
    try:
        connection = _connect(path, read_only=True)
    except DatabaseInUse:
        return None
    try:
        if version_of(connection, path) == VERSION:
            return connection
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None


def _connect(path: Path, *, read_only: bool, config: Mapping[str, int | str] | None = None) -> DuckDBPyConnection:
    import _duckdb as duckdb

    try:
        return duckdb.connect(str(path), read_only=read_only, config=dict(config or {}))
    except duckdb.ConnectionException as error:
        # This process has it open in the other mode: a connection that may write can read as well.
        if read_only:
            return duckdb.connect(str(path))
        if config:  # or with other settings
            return _connect(path, read_only=False)
        raise DatabaseInUse from error
    except duckdb.Error as error:
        if "Could not set lock" in str(error) or "already attached" in str(error):
            raise DatabaseInUse from error
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> StoreError:
    """Return the error for a database that DuckDB cannot open, with its reason."""
    why = str(error).splitlines()[0].removeprefix("IO Error: ").strip().rstrip(".!")
    return StoreUnreadable(f"cannot open '{path}': {why[:1].lower()}{why[1:]}", _ELSEWHERE)


def _copy_of(path: Path) -> Path:
    """Return a copy, migrated to this version; it is used again until the file changes."""
    path = path.absolute()
    known = _copies.get(path)
    if known is None or known[0] != _stamp(path):
        if known is not None:
            _discard(_copies.pop(path)[1].parent)
        stamp, copy = _copy(path)
        connection = _connect(copy, read_only=False)
        try:
            bring_up_to_date(connection, path)
        finally:
            connection.close()
        _copies[path] = known = (stamp, copy)
    return known[1]


def _copy(path: Path) -> tuple[Stamp, Path]:
    """Copy the database and its log as they were at one moment."""
    deadline = time.monotonic() + _COPY_PATIENCE_S
    while time.monotonic() < deadline:
        before = _stamp(path)
        if _is_settled(before):
            # By another process: closing a file here would release all locks of this process on it, DuckDB's included.
            folder = Path(tempfile.mkdtemp(prefix="mayavi-store-"))
            atexit.register(_discard, folder)
            sources = [str(file) for file in (path, _log(path)) if file.exists()]
            done = subprocess.run(["cp", "--", *sources, str(folder)], capture_output=True, text=True, check=False)
            if done.returncode == 0 and _stamp(path) == before:
                return before, folder / path.name
            _discard(folder)
            if "No space" in done.stderr:
                raise StoreFull(
                    f"no space is left in '{folder.parent}' for a copy of '{path}', which another process holds open",
                    "free some, set TMPDIR to a larger place, or end that process",
                )
        time.sleep(0.01)
    raise StoreError(
        f"'{path}' is held open by another process and keeps changing", "end that process, or try again later"
    )


def _discard(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _log(path: Path) -> Path:
    return path.with_name(path.name + ".wal")


def _stamp(path: Path) -> Stamp:
    """Return inode, size and time of the database and its log, which change whenever they are written."""
    found = []
    for file in (path, _log(path)):
        try:
            status = file.stat()
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
        except FileNotFoundError:
            found.append((0, 0, 0))
    return tuple(found)


def _is_settled(stamp: Stamp) -> bool:
    """Whether the last change is old enough that another one would show despite coarse file system clocks."""
    return all(time.time_ns() - changed > _SETTLED_NS for _, _, changed in stamp)
