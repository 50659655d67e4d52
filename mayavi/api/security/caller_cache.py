"""`CallerCache`: callers by their credentials, until anything in the database changes."""

from __future__ import annotations

import hashlib
import math
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi.api.database import ServiceDatabase
    from mayavi.api.security.caller import Caller

_MOST = 10_000


class CallerCache:
    """Saves database queries for callers with many requests.

    A key that another thread or process revokes changes the database, so the cache is empty at the next request.
    Credentials are kept as hashes. Used on the thread of the event loop.
    """

    def __init__(self, database: ServiceDatabase) -> None:
        self.database = database
        self._change: object = None
        self._callers: dict[bytes, tuple[Caller, float]] = {}

    def get(self, credentials: bytes) -> Caller | None:
        """Return the caller with these credentials, if known and not expired."""
        change = self.database.change()
        if change != self._change:
            self._callers.clear()
            self._change = change
            return None
        found = self._callers.get(hashlib.sha256(credentials).digest())
        return found[0] if found is not None and found[1] > time.time() else None

    def keep(self, credentials: bytes, caller: Caller, expires_at: float = math.inf) -> Caller:
        """Remember a caller."""
        if len(self._callers) >= _MOST:
            self._callers.clear()
        self._callers[hashlib.sha256(credentials).digest()] = caller, expires_at
        return caller
