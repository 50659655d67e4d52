"""`ReadinessChecks`: whether the service can take work."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from typing import TYPE_CHECKING

from mayavi.api.models.health import Readiness
from mayavi.errors import MayaviError

if TYPE_CHECKING:
    from mayavi.api.service import Service

_FRESH_S = 1.0


class ReadinessChecks:
    """Checks of database, store, workers and disk. The route is public, so an answer is cached for a second."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._lock = threading.Lock()
        self._last: tuple[float, Readiness] | None = None

    def run(self) -> Readiness:
        """Return the state; each check is `ok` or says what is wrong, without paths."""
        with self._lock:
            if self._last is None or time.monotonic() - self._last[0] > _FRESH_S:
                checks = {
                    "database": self._database(),
                    "store": self._store(),
                    "workers": self._workers(),
                    "disk": self._disk(),
                }
                self._last = time.monotonic(), Readiness(ready=set(checks.values()) == {"ok"}, checks=checks)
            return self._last[1]

    def _database(self) -> str:
        try:
            with self.service.database.writing() as connection:
                connection.execute("SELECT count(*) FROM keys").fetchone()
        except sqlite3.Error as error:
            return f"the database of the service cannot be written: {error}"
        return "ok"

    def _store(self) -> str:
        try:
            if self.service.store.path.exists():
                self.service.store.sql("SELECT count(*) AS runs FROM runs").records()
        except (MayaviError, OSError) as error:
            return f"the database of runs cannot be read: {type(error).__name__}"
        return "ok"

    def _workers(self) -> str:
        return "stopping" if self.service.stopping.is_set() else self.service.worker_state()

    def _disk(self) -> str:
        least = self.service.settings.least_free_mb
        store = self.service.store.path.absolute()
        folders = (self.service.database.path.parent, next(each for each in store.parents if each.is_dir()))
        free = min(shutil.disk_usage(folder).free for folder in folders)
        return "ok" if free >= least * 1_000_000 else f"less than {least} MB free"
