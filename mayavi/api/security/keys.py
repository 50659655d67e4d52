"""`KeyRing`: create, find, list and revoke keys in the service's database."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mayavi.api.security.tokens import KeyText, hash_of, is_same, new_key, parse_key
from mayavi.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from mayavi.api.database import ServiceDatabase

Scope = Literal["read", "full"]
REQUESTS_PER_MINUTE, CONCURRENT_JOBS = 6000, 100
"""Limits of a key that names none."""
BOOTSTRAP_ID = "bootstrap"
BOOTSTRAP_VARIABLE = "MAYAVI_API_KEY"
SHORTEST_BOOTSTRAP = 20
_NOBODY = hash_of("no key has this secret")
_USED_EVERY_S = 60.0


@dataclass(frozen=True, slots=True)
class Key:
    """A row of `keys`, without the hash of its secret. Times are seconds since 1970."""

    key_id: str
    name: str
    scope: Scope
    created_at: float
    last_used_at: float | None
    revoked_at: float | None
    requests_per_minute: int
    concurrent_jobs: int
    bootstrap: bool


_COLUMNS = "key_id, name, scope, created_at, last_used_at, revoked_at, requests_per_minute, concurrent_jobs, bootstrap"


class KeyRing:
    """The keys. Each question reads the database, so that a key revoked by another process is refused at once."""

    def __init__(
        self,
        database: ServiceDatabase,
        *,
        requests_per_minute: int = REQUESTS_PER_MINUTE,
        concurrent_jobs: int = CONCURRENT_JOBS,
    ) -> None:
        self.database = database
        self.requests_per_minute = requests_per_minute
        self.concurrent_jobs = concurrent_jobs
        self._used: dict[str, float] = {}

    def create(
        self,
        name: str,
        scope: Scope = "read",
        *,
        requests_per_minute: int | None = None,
        concurrent_jobs: int | None = None,
    ) -> tuple[Key, KeyText]:
        """Store a new key and return it with its text, which cannot be had again."""
        text = new_key()
        with self.database.writing() as connection:
            connection.execute(
                "INSERT INTO keys (key_id, name, scope, secret_hash, created_at, requests_per_minute, concurrent_jobs)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    text.key_id,
                    name,
                    scope,
                    hash_of(text.secret),
                    time.time(),
                    requests_per_minute or self.requests_per_minute,
                    concurrent_jobs or self.concurrent_jobs,
                ),
            )
        return self.key(text.key_id), text

    def all(self) -> list[Key]:
        """Return all keys, newest first, revoked ones included."""
        query = f"SELECT {_COLUMNS} FROM keys ORDER BY created_at DESC, key_id"
        return [_key(row) for row in self.database.reading().execute(query)]

    def key(self, key_id: str) -> Key:
        """Return a key; raise `UnknownName` if there is none."""
        row = self.database.reading().execute(f"SELECT {_COLUMNS} FROM keys WHERE key_id = ?", (key_id,)).fetchone()
        if row is None:
            raise UnknownName(f"unknown key '{key_id}'", "`mayavi keys list` shows their ids")
        return _key(row)

    def find(self, text: str) -> Key | None:
        """Return the usable key with this text; None for a wrong or revoked one. The time does not depend on which."""
        parsed = parse_key(text)
        connection = self.database.reading()
        query = f"SELECT {_COLUMNS}, secret_hash FROM keys WHERE key_id = ? AND revoked_at IS NULL"
        row = connection.execute(query, (parsed.key_id if parsed else "",)).fetchone()
        if is_same(row["secret_hash"] if row else _NOBODY, hash_of(parsed.secret if parsed else text)) and row:
            return _key(row)
        row = connection.execute(query, (BOOTSTRAP_ID,)).fetchone()
        if is_same(row["secret_hash"] if row else _NOBODY, hash_of(text)) and row:
            return _key(row)
        return None

    def revoke(self, key_id: str) -> Key:
        """Revoke a key and end its sessions; raise `UsageError` if it is revoked or set by the environment."""
        key = self.key(key_id)
        if key.bootstrap and key.revoked_at is None:
            raise UsageError(
                f"the key '{key.name}' comes from {BOOTSTRAP_VARIABLE}",
                "remove the variable and restart the service",
            )
        if key.revoked_at is not None:
            raise UsageError(f"the key '{key_id}' is revoked already")
        with self.database.writing() as connection:
            _revoke(connection, key_id)
        return self.key(key_id)

    def set_bootstrap(self, text: str | None) -> None:
        """Make `text` the bootstrap key, with the scope `full`; without a text, revoke the present one."""
        if text is not None and (len(text) < SHORTEST_BOOTSTRAP or not text.isascii() or not text.isprintable()):
            raise UsageError(
                f"{BOOTSTRAP_VARIABLE} must have at least {SHORTEST_BOOTSTRAP} printable ASCII characters",
                "`openssl rand -hex 32` prints a good one",
            )
        with self.database.writing() as connection:
            query = "SELECT secret_hash, revoked_at FROM keys WHERE key_id = ?"
            row = connection.execute(query, (BOOTSTRAP_ID,)).fetchone()
            if text is None:
                if row is not None and row["revoked_at"] is None:
                    _revoke(connection, BOOTSTRAP_ID)
                return
            if row is not None and not is_same(row["secret_hash"], hash_of(text)):
                _revoke(connection, BOOTSTRAP_ID)  # ends the sessions of the former text
            connection.execute(
                "INSERT INTO keys (key_id, name, scope, secret_hash, created_at, requests_per_minute, concurrent_jobs,"
                " bootstrap) VALUES (?, ?, 'full', ?, ?, ?, ?, 1) ON CONFLICT (key_id) DO UPDATE SET"
                " secret_hash = excluded.secret_hash, revoked_at = NULL,"
                " requests_per_minute = excluded.requests_per_minute, concurrent_jobs = excluded.concurrent_jobs",
                (
                    BOOTSTRAP_ID,
                    BOOTSTRAP_VARIABLE,
                    hash_of(text),
                    time.time(),
                    self.requests_per_minute,
                    self.concurrent_jobs,
                ),
            )

    def is_due(self, key_id: str) -> bool:
        """Whether the last use of a key should be stored: at most once a minute."""
        now = time.monotonic()
        if now - self._used.get(key_id, -_USED_EVERY_S) < _USED_EVERY_S:
            return False
        self._used[key_id] = now
        return True

    def note_use(self, *key_ids: str) -> None:
        """Store that keys are used now."""
        with self.database.writing(lasting=False) as connection:
            connection.executemany(
                "UPDATE keys SET last_used_at = ? WHERE key_id = ?", [(time.time(), key_id) for key_id in key_ids]
            )


def _key(row: sqlite3.Row) -> Key:
    return Key(row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], bool(row[8]))


def _revoke(connection: sqlite3.Connection, key_id: str) -> None:
    connection.execute("UPDATE keys SET revoked_at = ? WHERE key_id = ?", (time.time(), key_id))
    connection.execute("DELETE FROM sessions WHERE key_id = ?", (key_id,))
