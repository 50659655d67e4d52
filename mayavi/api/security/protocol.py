"""HTTP connections with limits on headers and on slow clients, which uvicorn leaves to proxies."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from mayavi.api.errors import ApiError
from mayavi.api.security.limits import MOST_HEADER_BYTES

HEADER_SECONDS = 15.0
"""Longest time from the first byte of a request, or from the connection, to the end of its headers."""
MOST_HEAD_BYTES = 2 * MOST_HEADER_BYTES
"""Most bytes before the end of the headers: beyond what a route ever sees."""
WRITE_SECONDS = 60.0
"""Longest time that a client may leave an answer unread."""


class LimitedProtocol(HttpToolsProtocol):
    """One connection. What cannot be a request is answered with the body `Error`, and the connection is closed."""

    header_seconds = HEADER_SECONDS
    write_seconds = WRITE_SECONDS

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._header_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer of the request's headers."""
        super().connection_made(transport)
        self._wait_for_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        self._headers_are_here()
        self._stop_write_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the data; refuse headers without an end."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self._header_timer is None:
            self._head_bytes = 0
        elif self._head_bytes > MOST_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(ApiError(431, f"more than {MOST_HEAD_BYTES:,} bytes of headers"))

    def on_message_begin(self) -> None:
        """Start the timer of the headers."""
        super().on_message_begin()
        self._wait_for_headers()

    def on_headers_complete(self) -> None:
        """Stop the timer."""
        self._headers_are_here()
        super().on_headers_complete()

    def pause_writing(self) -> None:
        """Start the timer of a client that does not read."""
        super().pause_writing()
        self._stop_write_timer()
        self._write_timer = self.loop.call_later(self.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer."""
        self._stop_write_timer()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP."""
        self._refuse(ApiError(400, "this is not a valid HTTP request"))

    def _unsupported_upgrade_warning(self) -> None:
        """Ignore upgrades to other protocols silently."""

    def _wait_for_headers(self) -> None:
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(self.header_seconds, self._too_slow)

    def _headers_are_here(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _too_slow(self) -> None:
        self._header_timer = None
        if self._head_bytes == 0:
            self.transport.close()
        else:
            self._refuse(ApiError(408, f"the headers did not arrive within {self.header_seconds:g} s"))

    def _refuse(self, error: ApiError) -> None:
        self._headers_are_here()
        body = error.body("").model_dump_json().encode()
        lines = [
            STATUS_LINE[error.status],
            b"content-type: application/json\r\n",
            b"content-length: %d\r\n" % len(body),
            b"connection: close\r\n\r\n",
            body,
        ]
        self.transport.write(b"".join(lines))
        self.transport.close()
