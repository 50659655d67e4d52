"""`Frame`: middleware around every request: id, limits, security headers, log, metrics."""

from __future__ import annotations

import re
import secrets
import time
from itertools import count
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mayavi.api import log
from mayavi.api.errors import ApiError
from mayavi.api.security.headers import SECURITY_HEADERS
from mayavi.api.security.limits import Limits, discard

if TYPE_CHECKING:
    from mayavi.api.service import Service

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_PROCESS, _NUMBERS = secrets.token_hex(4), count(1)


class Frame:
    """Outermost middleware. Whatever fails inside, it answers with the body `Error` and the request's id."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app = app
        self.service = service
        self.limits = Limits(service.settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = _Exchange(scope, send)
        head, refusal = self.limits.read_head(scope)
        given = head.request_id
        request_id = given.decode() if _REQUEST_ID.fullmatch(given) else f"{_PROCESS}{next(_NUMBERS):08x}"
        exchange.state["request_id"] = request_id
        try:
            if refusal is not None:
                raise refusal
            inner = await self.limits.body(receive) if head.has_body else receive
            await self.app(scope, inner, exchange.send)
        except ApiError as error:
            if head.has_body and not head.expects_leave:
                await discard(receive)
            await exchange.refuse(error)
        except Exception as error:
            log.write_exception(error, request_id=request_id)
            hint = f"the log of the service has the reason, under {request_id}"
            await exchange.refuse(ApiError(500, "the service failed", hint))
        finally:
            self._record(exchange)

    def _record(self, exchange: _Exchange) -> None:
        scope, seconds = exchange.scope, time.perf_counter() - exchange.started
        route = getattr(scope.get("route"), "path", "unknown")
        self.service.metrics.record(scope["method"], route, exchange.status, seconds)
        if self.service.settings.log_requests:
            log.write_request(
                exchange.state["request_id"],
                scope["method"],
                route,
                scope["path"],
                exchange.status,
                seconds,
                exchange.state.get("key_id", ""),
                scope["client"][0] if scope.get("client") else "",
            )


class _Exchange:
    """One request and the answer to it."""

    __slots__ = ("answered", "scope", "started", "state", "status", "to_client")

    def __init__(self, scope: Scope, send: Send) -> None:
        self.scope = scope
        self.state = scope.setdefault("state", {})
        self.to_client = send
        self.started = time.perf_counter()
        self.status = 499  # the client left before an answer, unless `send` is called
        self.answered = False

    async def send(self, message: Message) -> None:
        """Pass a message on to the client, the first with its headers."""
        if message["type"] == "http.response.start":
            self.answered = True
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            present = {name for name, _ in headers}
            headers += [header for header in SECURITY_HEADERS if header[0] not in present]
            headers.append((b"x-request-id", self.state["request_id"].encode()))
            if (rate := self.state.get("rate")) is not None:
                headers.append((b"x-ratelimit-limit", b"%d" % rate.limit))
                headers.append((b"x-ratelimit-remaining", b"%d" % rate.remaining))
            message = {**message, "headers": headers}
        await self.to_client(message)

    async def refuse(self, error: ApiError) -> None:
        """Answer with an error, if nothing was answered yet, and close the connection."""
        if self.answered:
            self.status = 500
            return
        body = error.body(self.state["request_id"]).model_dump_json().encode()
        headers = {**error.headers, "Connection": "close"}
        response = Response(body, error.status, headers, "application/json")
        await response(self.scope, _nothing, self.send)


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
