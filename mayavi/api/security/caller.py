"""The caller of a route: a key, given as a bearer token or through a session cookie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from mayavi.api.errors import ApiError
from mayavi.api.models.keys import Scope
from mayavi.api.security.keys import CONCURRENT_JOBS, REQUESTS_PER_MINUTE


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the key, and the session of a browser if there is one."""

    key_id: str
    name: str
    scope: Scope
    session_id: str | None = None
    requests_per_minute: int = REQUESTS_PER_MINUTE
    concurrent_jobs: int = CONCURRENT_JOBS
    """Most jobs of the key that wait or run."""


async def reader(request: Request) -> Caller:
    """Return the caller; 401 without a valid key or session, 429 if the key asks too often."""
    caller: Caller = request.app.state.service.authenticator.admit(request)
    return caller


async def writer(caller: Annotated[Caller, Depends(reader)]) -> Caller:
    """Return a caller who may change things; 403 for a read-only key."""
    if caller.scope != "full":
        raise ApiError(403, "this key is read-only", "ask for a key with the scope `full`")
    return caller


Reader = Annotated[Caller, Depends(reader)]
Writer = Annotated[Caller, Depends(writer)]
