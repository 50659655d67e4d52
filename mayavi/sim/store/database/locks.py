"""Locks between readers of a store and merges, also of other processes.

Readers share `merge.lock`; a merge holds it exclusively. Many merges in a row would keep a reader out for good, so a
reader that has to wait shares `readers.lock` meanwhile, and no merge begins while that is held.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PAUSE_S = 0.002
_NOT_WRITABLE = {errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EPERM}


class MergeLocks:
    """The lock files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._merge = folder / "merge.lock"
        self._readers = folder / "readers.lock"

    @contextmanager
    def shared(self, patience_s: float) -> Iterator[bool]:
        """Yield whether merges are kept out; waits at most `patience_s`, ahead of merges that have not begun."""
        with _opened_to_read(self._merge) as merge:
            if merge is None or _try(merge, fcntl.LOCK_SH):
                yield True
                return
            with _opened_to_read(self._readers) as readers:
                deadline = time.monotonic() + patience_s
                if readers is not None:
                    _wait(readers, fcntl.LOCK_SH, deadline)
                locked = _wait(merge, fcntl.LOCK_SH, deadline)
            yield locked

    @contextmanager
    def exclusive(self, patience_s: float) -> Iterator[bool]:
        """Yield whether the body may merge: no reader and no other merge is active, and no reader waits."""
        deadline = time.monotonic() + patience_s
        try:
            merge = _open(self._merge)
        except OSError:  # no folder, or one that cannot be written
            yield False
            return
        try:
            yield self._begin(merge, deadline)
        finally:
            os.close(merge)

    def _begin(self, merge: int, deadline: float) -> bool:
        try:
            readers = _open(self._readers)
        except OSError:
            return False
        try:
            while True:
                if _try(readers, fcntl.LOCK_EX):
                    if _try(merge, fcntl.LOCK_EX):
                        return True
                    fcntl.flock(readers, fcntl.LOCK_UN)
                if time.monotonic() >= deadline:
                    return False
                time.sleep(_PAUSE_S)
        finally:
            os.close(readers)


def is_locked(file: Path) -> bool:
    """Whether a process holds `file` exclusively; this check takes a shared lock, so that checks do not collide."""
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return not _try(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


@contextmanager
def _opened_to_read(file: Path) -> Iterator[int | None]:
    """Yield a descriptor of `file`; None if nothing was ever written there, or it is on a read-only disk."""
    try:
        descriptor = _open(file)
    except OSError as error:
        if error.errno not in {*_NOT_WRITABLE, errno.ENOENT}:
            raise
        try:
            descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            yield None
            return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open(file: Path) -> int:
    return os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)


def _try(descriptor: int, mode: int) -> bool:
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait(descriptor: int, mode: int, deadline: float) -> bool:
    while not _try(descriptor, mode):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_PAUSE_S)
    return True
