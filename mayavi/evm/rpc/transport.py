"""HTTP POST over persistent connections, with a deadline and a size limit, on the standard library.

Why not httpx: nothing of it is needed here (no HTTP/2, no async, no redirects: a redirect would carry the key to
another host), importing it takes several times as long, and its timeouts are per read, so that a node that
sends slowly blocks a caller for ever. Here one deadline covers the whole exchange.
"""

from __future__ import annotations

import base64
import http.client
import socket
import ssl
import threading
import time
import weakref
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from mayavi.evm.rpc.endpoint import Endpoint

_IDLE_S = 4.0  # nodes close idle connections, the fastest (Node.js) after 5 s: do not write to a closed one
_READ_BYTES = 1 << 16


class AnswerTooLarge(Exception):  # noqa: N818  (a name says what happened)
    """Answer longer than the size limit."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Status, body and the two headers that matter here."""

    status: int
    body: bytes
    retry_after: str | None
    location: str | None


class Transport:
    """HTTP client of one endpoint. Threads may share it: each exchange has its own connection while it lasts."""

    def __init__(self, endpoint: Endpoint, *, timeout_s: float, max_answer_bytes: int) -> None:
        self.endpoint = endpoint
        self.timeout_s = timeout_s
        self.max_answer_bytes = max_answer_bytes
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "mayavi",
        }
        if endpoint.authorization is not None:
            self._headers["Authorization"] = endpoint.authorization
        self._target = endpoint.target
        self._tls = ssl.create_default_context() if endpoint.secure else None
        self._proxy = _proxy_for(endpoint)
        if self._proxy is not None and not endpoint.secure:
            self._target = endpoint.shown + endpoint.target
            self._headers.update(self._proxy.headers)
        self._idle: list[tuple[float, http.client.HTTPConnection]] = []
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, _close_all, self._idle)

    def post(self, body: bytes) -> HttpAnswer:
        """Send `body` and return the whole answer, whatever its status.

        Raises TimeoutError if the exchange exceeds the deadline, `AnswerTooLarge`, and whatever OSError or
        http.client.HTTPException the connection ends with (a body shorter than announced is an IncompleteRead).
        """
        deadline = time.monotonic() + self.timeout_s
        connection = self._take()
        try:
            if connection.sock is None:
                connection.timeout = _left(deadline)
                connection.connect()
            sock: socket.socket = connection.sock
            sock.settimeout(_left(deadline))
            connection.request("POST", self._target, body, self._headers)
            response = connection.getresponse()
            try:
                content = self._read(response, sock, deadline)
            finally:
                response.close()
            answer = HttpAnswer(
                response.status, content, response.getheader("Retry-After"), response.getheader("Location")
            )
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            with self._lock:
                self._idle.append((time.monotonic(), connection))
        return answer

    def close(self) -> None:
        """Close the idle connections. A later `post` opens new ones."""
        with self._lock:
            _close_all(self._idle)

    def _take(self) -> http.client.HTTPConnection:
        fresh_since = time.monotonic() - _IDLE_S
        with self._lock:
            while self._idle:
                since, connection = self._idle.pop()
                if since >= fresh_since:
                    return connection
                connection.close()
        return self._connection()

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self.endpoint.host, self.endpoint.port
        if self._proxy is not None:
            host, port = self._proxy.host, self._proxy.port
        if self._tls is None:
            return http.client.HTTPConnection(host, port)
        connection = http.client.HTTPSConnection(host, port, context=self._tls)
        if self._proxy is not None:
            connection.set_tunnel(self.endpoint.host, self.endpoint.port, self._proxy.headers)
        return connection

    def _read(self, response: http.client.HTTPResponse, sock: socket.socket, deadline: float) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while True:
            sock.settimeout(_left(deadline))
            piece = response.read1(_READ_BYTES)
            if not piece:
                break
            size += len(piece)
            if size > self.max_answer_bytes:
                raise AnswerTooLarge(f"the answer is longer than {self.max_answer_bytes} bytes")
            pieces.append(piece)
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
        return b"".join(pieces)


@dataclass(frozen=True, slots=True)
class _Proxy:
    host: str
    port: int
    headers: dict[str, str]


def _proxy_for(endpoint: Endpoint) -> _Proxy | None:
    """Proxy of this endpoint from the environment (`https_proxy`, `no_proxy` …); loopback never has one."""
    from urllib.request import getproxies, proxy_bypass

    if endpoint.host in ("localhost", "::1") or endpoint.host.startswith("127."):
        return None
    url = getproxies().get("https" if endpoint.secure else "http")
    if not url or proxy_bypass(endpoint.host):
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.hostname is None:
        return None
    headers: dict[str, str] = {}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Proxy-Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    return _Proxy(parts.hostname, parts.port or 80, headers)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("deadline passed")
    return left


def _close_all(idle: list[tuple[float, http.client.HTTPConnection]]) -> None:
    while idle:
        idle.pop()[1].close()
