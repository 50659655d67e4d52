"""`/session`: log in with a key, show the caller, log out."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response

from mayavi.api import log
from mayavi.api.errors import documented
from mayavi.api.models.keys import Login, Session
from mayavi.api.routes.keys import summary
from mayavi.api.security.caller import Reader
from mayavi.api.security.sessions import COOKIE
from mayavi.api.security.tokens import csrf_token_of
from mayavi.api.service import Parts

router = APIRouter(tags=["session"])


@router.post("/session", status_code=201, responses=documented(401, 403, 429))
def log_in(login: Login, request: Request, response: Response, parts: Parts) -> Session:
    """Exchange a key for a session cookie, which scripts cannot read."""
    key = parts.authenticator.log_in(request, login.key)
    if (former := request.cookies.get(COOKIE)) and (session := parts.sessions.find(former)):
        parts.sessions.close(session.session_id)
    opened, cookie = parts.sessions.open(key.key_id)
    log.audit(request, "login", key_id=key.key_id)
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=int(parts.sessions.seconds),
        path="/",
        secure=parts.settings.secure_cookies,
        httponly=True,
        samesite="strict",
    )
    return Session(
        key=summary(key),
        csrf_token=csrf_token_of(cookie),
        expires_at=datetime.fromtimestamp(opened.expires_at, UTC),
    )


@router.get("/session", responses=documented(401))
def who_am_i(caller: Reader, request: Request, parts: Parts) -> Session:
    """Return the caller's key and, for a browser, its CSRF token."""
    key = summary(parts.keys.key(caller.key_id))
    cookie = request.cookies.get(COOKIE)
    session = parts.sessions.find(cookie) if caller.session_id and cookie else None
    if session is None or cookie is None:
        return Session(key=key)
    return Session(
        key=key, csrf_token=csrf_token_of(cookie), expires_at=datetime.fromtimestamp(session.expires_at, UTC)
    )


@router.delete("/session", status_code=204, responses=documented(401))
def log_out(caller: Reader, response: Response, parts: Parts) -> None:
    """End the session. A bearer key has none: nothing changes."""
    if caller.session_id is not None:
        parts.sessions.close(caller.session_id)
        response.delete_cookie(COOKIE, path="/", secure=parts.settings.secure_cookies, httponly=True, samesite="strict")
