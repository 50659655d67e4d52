"""Lock of the data folder: one server at a time."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from mayavi.errors import UsageError

FILE = "service.lock"
_PAUSE_S = 0.05


class DataLock:
    """Exclusive lock on a folder, held until `release`, and by worker processes until they have ended."""

    def __init__(self, folder: Path, *, patience_s: float = 10.0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / FILE
        self.descriptor = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + patience_s
        while not self._try():
            if self._owner_runs() or time.monotonic() >= deadline:
                owner = self._owner() or "unknown"
                os.close(self.descriptor)
                raise UsageError(
                    f"another server uses the data folder '{folder}' (process {owner})",
                    "stop it first, or give this one a folder of its own: `--data FOLDER`",
                )
            time.sleep(_PAUSE_S)  # workers of a server that was killed end within moments
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Release the lock; worker processes that still run keep it."""
        os.ftruncate(self.descriptor, 0)
        os.close(self.descriptor)

    def _try(self) -> bool:
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _owner(self) -> str:
        return os.pread(self.descriptor, 20, 0).decode("ascii", "replace").strip()

    def _owner_runs(self) -> bool:
        owner = self._owner()
        if not owner.isdigit():
            return False
        try:
            os.kill(int(owner), 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True
