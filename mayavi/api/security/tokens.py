"""Texts of keys, session cookies and CSRF tokens, and their hashes."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from base64 import urlsafe_b64encode
from typing import NamedTuple

KEY = re.compile(r"mvk_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")
"""`mvk_`, the id of the key, and 32 random bytes."""


class KeyText(NamedTuple):
    """A key as its owner has it."""

    key_id: str
    secret: str

    def __str__(self) -> str:
        return f"mvk_{self.key_id}_{self.secret}"


def new_key() -> KeyText:
    """Draw a key."""
    return KeyText(secrets.token_hex(4), secrets.token_urlsafe(32))


def parse_key(text: str) -> KeyText | None:
    """Split a key into id and secret; None if it has another form."""
    found = KEY.fullmatch(text)
    return KeyText(found[1], found[2]) if found else None


def new_session() -> str:
    """Draw the value of a session cookie."""
    return secrets.token_urlsafe(32)


def hash_of(secret: str) -> bytes:
    """SHA-256 of a secret. Secrets are random, so that no salt and no slow hash is needed."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def is_same(one: bytes, other: bytes) -> bool:
    """Compare two hashes in constant time."""
    return hmac.compare_digest(one, other)


def csrf_token_of(session: str) -> str:
    """CSRF token of a session: derived from its cookie, so that nobody else can make it and nothing is stored."""
    digest = hmac.digest(session.encode("utf-8", "surrogatepass"), b"mayavi csrf token", "sha256")
    return urlsafe_b64encode(digest).rstrip(b"=").decode()
