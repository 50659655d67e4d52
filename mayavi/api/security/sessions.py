"""`Sessions`: browsers that have logged in with a key."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mayavi.api.security.tokens import hash_of, new_session

if TYPE_CHECKING:
    from mayavi.api.database import ServiceDatabase

COOKIE = "mayavi_session"


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session that has not expired."""

    session_id: str
    """SHA-256 of the cookie, in hex."""
    key_id: str
    expires_at: float


class Sessions:
    """The sessions. The database holds the hash of a cookie, never the cookie."""

    def __init__(self, database: ServiceDatabase, hours: float) -> None:
        self.database = database
        self.seconds = hours * 3600

    def open(self, key_id: str) -> tuple[OpenSession, str]:
        """Start a session with a cookie of its own, and delete expired ones."""
        cookie = new_session()
        now = time.time()
        digest = hash_of(cookie)
        with self.database.writing() as connection:
            connection.execute("DELETE FROM sessions WHERE expires_at <= ?", (now,))
            connection.execute(
                "INSERT INTO sessions (session_hash, key_id, created_at, expires_at) VALUES (?, ?, ?, ?)",
                (digest, key_id, now, now + self.seconds),
            )
        return OpenSession(digest.hex(), key_id, now + self.seconds), cookie

    def find(self, cookie: str) -> OpenSession | None:
        """Return the session of a cookie; None if it never was, has expired, or its key is revoked."""
        return self._find(hash_of(cookie))

    def is_open(self, session_id: str) -> bool:
        """Whether a session goes on."""
        return self._find(bytes.fromhex(session_id)) is not None

    def _find(self, digest: bytes) -> OpenSession | None:
        row = (
            self.database.reading()
            .execute(
                "SELECT key_id, expires_at FROM sessions JOIN keys USING (key_id)"
                " WHERE session_hash = ? AND revoked_at IS NULL",
                (digest,),
            )
            .fetchone()
        )
        if row is None or row["expires_at"] <= time.time():
            return None
        return OpenSession(digest.hex(), row["key_id"], row["expires_at"])

    def close(self, session_id: str) -> None:
        """End a session."""
        with self.database.writing() as connection:
            connection.execute("DELETE FROM sessions WHERE session_hash = ?", (bytes.fromhex(session_id),))
