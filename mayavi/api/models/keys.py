"""Keys and sessions."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from mayavi.api.models.base import Answer, Request

Scope = Literal["read", "full"]


class KeyCreation(Request):
    """A new key."""

    name: str = Field(min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f]+$")
    scope: Scope = "read"
    requests_per_minute: int | None = Field(default=None, ge=1, le=1_000_000)
    concurrent_jobs: int | None = Field(default=None, ge=1, le=1000)


class KeySummary(Answer):
    """A key without its secret."""

    key_id: str
    name: str
    scope: Scope
    created_at: datetime
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None
    requests_per_minute: int
    concurrent_jobs: int
    bootstrap: bool = Field(default=False, description="Whether it comes from MAYAVI_API_KEY.")


class CreatedKey(KeySummary):
    """A new key with its secret, which is shown once."""

    key: str


class Login(Request):
    """Log in with a key."""

    key: str = Field(max_length=200)


class Session(Answer):
    """The caller: by which key, and the token that unsafe requests of a browser carry as `X-CSRF-Token`."""

    key: KeySummary
    csrf_token: str | None = Field(default=None, description="None for callers with a bearer key.")
    expires_at: datetime | None = None
