"""`Authenticator`: let a request in by its bearer key or its session cookie."""

from __future__ import annotations

import asyncio
import hmac
import sqlite3
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING

from fastapi import Request

from mayavi.api import log
from mayavi.api.errors import ApiError
from mayavi.api.security.caller import Caller
from mayavi.api.security.caller_cache import CallerCache
from mayavi.api.security.keys import Key, KeyRing
from mayavi.api.security.origin import SAFE_METHODS, is_cross_origin, is_known_origin
from mayavi.api.security.rate import RateLimiter, Taken
from mayavi.api.security.sessions import COOKIE, OpenSession, Sessions
from mayavi.api.security.tokens import csrf_token_of

if TYPE_CHECKING:
    from mayavi.api.settings import ServiceSettings

_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="mayavi"'}


def _own_page(*, https: bool) -> str:
    """Say how a login reaches the service as one of its own pages."""
    if https:
        return "open the service by its https:// address; its proxy passes on the header Host unchanged"
    return "log in on the service's own page; a proxy before it passes on the header Host unchanged"


class Authenticator:
    """Authentication, CSRF protection and rate limits. Never waits for a writer on the event loop."""

    def __init__(self, settings: ServiceSettings, keys: KeyRing, sessions: Sessions) -> None:
        self.settings = settings
        self.keys = keys
        self.sessions = sessions
        self.callers = CallerCache(keys.database)
        self.requests = RateLimiter()
        self.failures = RateLimiter()
        self._used: deque[str] = deque()
        """Ids of keys whose last use is not stored yet. The request that adds the first one schedules the write."""

    def admit(self, request: Request) -> Caller:
        """Return the caller of a request; a bearer key counts before a cookie. Raise 401, 403 or 429."""
        header = _authorization(request)
        if header is not None:
            caller = self.callers.get(header)
            if caller is None:
                caller = self.callers.keep(header, _caller(self._bearer(header.decode("latin-1"))))
        else:
            caller = self._browser(request)
        state = request.scope["state"]
        state["key_id"] = caller.key_id
        taken = state["rate"] = self.requests.take(caller.key_id, caller.requests_per_minute)
        if not taken.allowed:
            raise too_many(taken, f"this key may send {taken.limit} requests a minute")
        if self.keys.is_due(caller.key_id):
            self._used.append(caller.key_id)
            if len(self._used) == 1:  # else the note that was asked for takes it along
                asyncio.get_running_loop().run_in_executor(None, self._note_uses)
        return caller

    async def while_valid(self, caller: Caller, stream: AsyncGenerator[str]) -> AsyncGenerator[str]:
        """Pass a stream on until the caller's key is revoked or the session ends."""
        async with aclosing(stream):
            async for piece in stream:
                if not self._is_valid(caller):
                    return
                yield piece

    def _is_valid(self, caller: Caller) -> bool:
        if caller.session_id is not None:
            return self.sessions.is_open(caller.session_id)
        return self.keys.key(caller.key_id).revoked_at is None

    def log_in(self, request: Request, text: str) -> Key:
        """Return the key of a login; failed attempts of an address are limited."""
        if is_cross_origin(request.headers, https=self.settings.secure_cookies):
            raise ApiError(403, "the login comes from another site", _own_page(https=self.settings.secure_cookies))
        address = client_bucket(request)
        left = self.failures.look(address, self.settings.failed_logins_per_minute)
        if not left.allowed:
            raise too_many(left, "too many failed logins from this address")
        key = self.keys.find(text)
        if key is None:
            self.failures.take(address, self.settings.failed_logins_per_minute)
            log.audit(request, "login failed")
            raise ApiError(401, "the key is wrong or revoked", "`mayavi keys list` shows which keys are valid")
        return key

    def _bearer(self, header: str) -> Key:
        scheme, _, text = header.partition(" ")
        key = self.keys.find(text.strip()) if scheme.lower() == "bearer" else None
        if key is not None:
            return key
        if scheme.lower() != "bearer":
            message, hint = "the header `Authorization` is not a bearer key", "send `Authorization: Bearer KEY`"
        else:
            message, hint = "the key is wrong or revoked", "`mayavi keys list` shows which keys are valid"
        raise ApiError(401, message, hint, headers={"WWW-Authenticate": 'Bearer realm="mayavi", error="invalid_token"'})

    def _browser(self, request: Request) -> Caller:
        cookie = request.cookies.get(COOKIE)
        if cookie is None:
            hint = "send `Authorization: Bearer KEY`; `mayavi keys create` makes one"
            raise ApiError(401, "a key is needed", hint, headers=_CHALLENGE)
        credentials = b"cookie " + cookie.encode()
        caller = self.callers.get(credentials)
        if caller is None:
            session = self.sessions.find(cookie)
            if session is None:
                raise ApiError(401, "the session has ended", "log in again", headers=_CHALLENGE)
            caller = _caller(self.keys.key(session.key_id), session)
            self.callers.keep(credentials, caller, session.expires_at)
        if request.method not in SAFE_METHODS:
            self._check_csrf(request, cookie)
        return caller

    def _check_csrf(self, request: Request, cookie: str) -> None:
        headers = request.headers
        if is_cross_origin(headers, https=self.settings.secure_cookies) or not is_known_origin(headers):
            raise ApiError(
                403,
                "the request does not come from a page of this service",
                "programs send a bearer key instead of a cookie",
            )
        token = headers.get("x-csrf-token", "")
        if not hmac.compare_digest(token.encode("utf-8"), csrf_token_of(cookie).encode()):
            raise ApiError(403, "the header `X-CSRF-Token` is missing or wrong", "`GET /session` returns the token")

    def _note_uses(self) -> None:
        """Store the use of all keys that are due, together: many callers come at the same time."""
        used: list[str] = []
        with suppress(IndexError):
            while True:
                used.append(self._used.popleft())
        with suppress(sqlite3.Error):  # a full disk or a long writer: the next minute may do it
            self.keys.note_use(*used)


def too_many(taken: Taken, message: str) -> ApiError:
    """Build the answer 429 with the time to wait."""
    wait = taken.retry_after_s
    return ApiError(429, message, f"try again in {wait} s", headers={"Retry-After": str(wait)})


def _authorization(request: Request) -> bytes | None:
    for name, value in request.scope["headers"]:  # faster than `request.headers`, on the way of every request
        if name == b"authorization":
            return bytes(value)
    return None


def _caller(key: Key, session: OpenSession | None = None) -> Caller:
    return Caller(
        key.key_id,
        key.name,
        key.scope,
        session.session_id if session else None,
        requests_per_minute=key.requests_per_minute,
        concurrent_jobs=key.concurrent_jobs,
    )


def client_bucket(request: Request) -> str:
    """Return the client's address; of an IPv6 one the network, since a client has all addresses of it."""
    host = request.client.host if request.client else "unknown"
    try:
        address = ip_address(host)
    except ValueError:
        return host
    return host if address.version == 4 else address.packed[:8].hex()
