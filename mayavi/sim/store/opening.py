"""Opens the database: for a merge, or for a look, also when somebody else has it open.

A process that has the database open for writing keeps out all others, a shell for instance. Then a look is taken at a
copy, which is whole: while the database is held open no merge changes it, and a copy during which the file changed is
taken again.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mayavi.errors import StoreError, StoreFull, StoreUnreadable
from mayavi.sim.store.schema import VERSION, bring_up_to_date, version_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MAGIC, _MAGIC_AT = b"DUCK", 8
_ELSEWHERE = "move it away, or name another file with `--store` or MAYAVI_STORE"
_SETTLED_NS = 20_000_000
_COPY_PATIENCE_S = 10.0

Stamp = tuple[tuple[int, ...], ...]

_copies: dict[Path, tuple[Stamp, Path]] = {}
"""The copy of each database that was last taken, and the state of it that it shows."""


def refuse_unusable(path: Path) -> None:
    """Raise where it is known now that nothing can be stored at `path`: no database of ours, or one from the future.

    A database that nobody has touched since a merge of this version closed it needs no second look.
    """
    if not looks_like_a_database(path) or _note(path) == _noted(path):
        return
    try:
        connection = _connect(path, read_only=True)
    except Held:
        return
    try:
        version_of(connection, path)
    finally:
        connection.close()


def note_state(path: Path) -> None:
    """Remember that the database is of this version as it stands."""
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


def looks_like_a_database(path: Path) -> bool:
    """Whether a database is at `path`: false where nothing is, an error where something else is."""
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


class Held(Exception):  # noqa: N818
    """Another process has the database open in a way that keeps us out."""


def open_to_write(path: Path) -> DuckDBPyConnection:
    """The database at `path`, created where there is none, of this version. Raises `Held` when it is not to be had."""
    looks_like_a_database(path)
    connection = _connect(path, read_only=False)
    try:
        bring_up_to_date(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_read(path: Path) -> DuckDBPyConnection:
    """A connection on what the database at `path` holds now, in this version's tables; empty ones where it is absent.

    To be called while no merge can happen. Nothing at `path` is changed.
    """
    if not looks_like_a_database(path):
        import duckdb

        connection = duckdb.connect()
        bring_up_to_date(connection, path)
        return connection
    try:
        connection = _connect(path, read_only=True)
    except Held:
        return _open_copy(path)
    try:
        if version_of(connection, path) == VERSION:
            return connection
    except BaseException:
        connection.close()
        raise
    connection.close()
    return _open_copy(path)


def _connect(path: Path, *, read_only: bool) -> DuckDBPyConnection:
    import duckdb

    try:
        return duckdb.connect(str(path), read_only=read_only)
    except duckdb.ConnectionException as error:
        # This very process has it open, in the other way: one that may write may be looked through as well.
        if read_only:
            return duckdb.connect(str(path))
        raise Held from error
    except duckdb.Error as error:
        if "Could not set lock" in str(error):
            raise Held from error
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> StoreError:
    """What DuckDB says of a database that it does not take."""
    why = str(error).splitlines()[0].removeprefix("IO Error: ").strip().rstrip(".!")
    return StoreUnreadable(f"cannot open '{path}': {why[:1].lower()}{why[1:]}", _ELSEWHERE)


def _open_copy(path: Path) -> DuckDBPyConnection:
    """A connection on a copy, brought to this version there. A copy serves until the file changes."""
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
    return _connect(known[1], read_only=True)


def _copy(path: Path) -> tuple[Stamp, Path]:
    """A copy of the database and its log, both as they were at one moment."""
    deadline = time.monotonic() + _COPY_PATIENCE_S
    while time.monotonic() < deadline:
        before = _stamp(path)
        if _is_settled(before):
            # By a process of its own: closing a file gives up all locks this one has on it, DuckDB's among them.
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
        f"'{path}' is held open by another process and changes all the time", "end that process, or try again later"
    )


def _discard(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _log(path: Path) -> Path:
    return path.with_name(path.name + ".wal")


def _stamp(path: Path) -> Stamp:
    """What changes whenever the database or its log is written."""
    found = []
    for file in (path, _log(path)):
        try:
            status = file.stat()
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
        except FileNotFoundError:
            found.append((0, 0, 0))
    return tuple(found)


def _is_settled(stamp: Stamp) -> bool:
    """Whether the last change is long enough ago that another one would show: clocks of file systems are coarse."""
    return all(time.time_ns() - changed > _SETTLED_NS for _, _, changed in stamp)
