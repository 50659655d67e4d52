"""Limits of a request: host, lengths of path and headers, size and time of the body."""

from __future__ import annotations

import asyncio
import time
from typing import NamedTuple

from starlette.types import Message, Receive, Scope

from mayavi.api.errors import ApiError
from mayavi.api.security.hosts import AllowedHosts
from mayavi.api.settings import ServiceSettings

LONGEST_TARGET = 8192
"""Bytes of path and query."""
MOST_HEADERS = 100
MOST_HEADER_BYTES = 32_768
_DISCARDED_BYTES = 67_108_864
_DISCARDED_S = 2.0


class Head(NamedTuple):
    """Headers that the limits depend on."""

    request_id: bytes
    has_body: bool
    expects_leave: bool
    """Whether the client sends the body only when it is asked for: `Expect: 100-continue`."""


class Limits:
    """Refuse requests before a route sees them."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.hosts = AllowedHosts(settings.allowed_hosts)

    def read_head(self, scope: Scope) -> tuple[Head, ApiError | None]:
        """Read these headers; return an error if the request is refused."""
        size, request_id, host = 0, b"", b""
        chunked, expects, length = False, False, b""
        for name, value in scope["headers"]:
            size += len(name) + len(value) + 4
            if name == b"host":
                host = value
            elif name == b"x-request-id":
                request_id = value
            elif name == b"content-length":
                length = value
            elif name == b"transfer-encoding":
                chunked = True
            elif name == b"expect":
                expects = True
        declared = int(length) if length.isdigit() else None
        head = Head(request_id, chunked or bool(declared), expects)
        return head, self._refusal(scope, size, host, declared or 0)

    def _refusal(self, scope: Scope, header_bytes: int, host: bytes, declared: int) -> ApiError | None:
        if not self.hosts.allows(host):
            return ApiError(400, "the service does not answer to this host name", "allow it with `--allowed-host NAME`")
        if len(scope["raw_path"]) + len(scope["query_string"]) > LONGEST_TARGET:
            return ApiError(414, f"path and query are longer than {LONGEST_TARGET:,} bytes")
        if header_bytes > MOST_HEADER_BYTES or len(scope["headers"]) > MOST_HEADERS:
            return ApiError(431, f"more than {MOST_HEADERS} headers or {MOST_HEADER_BYTES:,} bytes of headers")
        if declared > self.settings.body_bytes:
            return self.too_large()
        return None

    def too_large(self) -> ApiError:
        """Build the answer to a body beyond the limit."""
        return ApiError(413, f"the body is larger than {self.settings.body_bytes:,} bytes")

    async def body(self, receive: Receive) -> Receive:
        """Read the whole body, and return a `receive` that repeats it. Raise 413 or 408."""
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return _repeating(message, receive)
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self.settings.body_bytes:
                        raise self.too_large()
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            seconds = self.settings.body_seconds
            raise ApiError(408, f"the body did not arrive within {seconds:g} s") from None
        return _repeating({"type": "http.request", "body": b"".join(parts), "more_body": False}, receive)


def _repeating(message: Message, receive: Receive) -> Receive:
    """Return a `receive` that gives `message` first, then what comes after it."""
    first: list[Message] = [message]

    async def repeated() -> Message:
        return first.pop() if first else await receive()

    return repeated


async def discard(receive: Receive) -> None:
    """Read the rest of a refused body, within bounds: a client that still writes would miss the answer."""
    size, end = 0, time.monotonic() + _DISCARDED_S
    try:
        async with asyncio.timeout(_DISCARDED_S):
            while size < _DISCARDED_BYTES and time.monotonic() < end:
                message = await receive()
                size += len(message.get("body", b""))
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
    except TimeoutError:
        return
