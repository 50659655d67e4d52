"""Requests that no honest client sends: each is refused, and the service goes on."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import Response

from mayavi.api.security.protocol import LimitedProtocol
from tests.api.live_server import PATIENCE_S, LiveServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server that waits half a second for slow clients instead of a quarter of a minute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LimitedProtocol, "header_seconds", 0.5)
        with LiveServer(tmp_path_factory.mktemp("service"), body_seconds=0.5) as server:
            yield server


@pytest.fixture(autouse=True)
def still_there(server: LiveServer) -> Iterator[None]:
    """After each attack the service answers as before."""
    yield
    with server.client(server.read) as client:
        assert client.get("/session").status_code == 200


def send(server: LiveServer, *parts: bytes) -> tuple[int, bytes, bytes]:
    """Send bytes and return status, headers and body; 0 if the connection was closed without an answer."""
    with server.connect() as connection:
        for part in parts:
            connection.sendall(part)
        return receive(connection)


def receive(connection: socket.socket) -> tuple[int, bytes, bytes]:
    received = b""
    try:
        while piece := connection.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]) if head else 0, head.lower(), body


def get(server: LiveServer, path: str, *headers: str, key: str | None = None) -> tuple[int, bytes, bytes]:
    lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", "Connection: close", *headers]
    if key:
        lines.append(f"Authorization: Bearer {key}")
    return send(server, ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))


UP = [
    "../../..",
    "..%2f..%2f..",
    "%2e%2e/%2e%2e/%2e%2e",
    "%2e%2e%2f%2e%2e%2f%2e%2e",
    "..%5c..%5c..",
    "....//....//....",
    "/",
]


@pytest.mark.parametrize("up", UP)
def test_no_path_leaves_its_folder(server: LiveServer, up: str) -> None:
    places = ["/app/", "/app/assets/", "/runs/", "/scenarios/", "/trainings/", "/evaluations/", "/sweeps/", "/"]
    for place in places:
        for file in ("etc%2fpasswd", "pyproject.toml", "service.sqlite%00.html"):
            for end in ("", "/report"):
                status, _, body = get(server, f"{place}{up}/{file}{end}", key=server.full)
                assert status in {200, 400, 401, 404, 405, 422, 503}, (place, file, end)
                assert b"root:x" not in body
                assert b"[project]" not in body
                assert b"SQLite format" not in body
                if status == 200:
                    assert place.startswith("/app/")  # the dashboard's page, which every address below it has


def test_ids_with_odd_characters_name_nothing(server: LiveServer) -> None:
    for odd in (
        "a%2Fb",
        "%00",
        "%0d%0aSet-Cookie:%20a=b",
        "' OR 1=1 --".replace(" ", "%20"),
        "%F0%9F%92%A9",
        "%ff",
        "*",
    ):
        for place in ("runs", "sweeps", "scenarios", "trainings"):
            status, head, _ = get(server, f"/{place}/{odd}", key=server.full)
            assert status in {404, 422}, (place, odd)
            assert b"set-cookie" not in head


def test_another_host_in_the_path_is_no_redirect(server: LiveServer) -> None:
    for path in (
        "//evil.example",
        "//evil.example/app",
        "/%2f/evil.example",
        "http://evil.example/app",
        "/app/../../x",
    ):
        status, head, _ = get(server, path)
        assert b"location: http" not in head
        assert b"location: //" not in head
        assert status < 500 or b"/app" in head or status == 503


@pytest.mark.slow(0.3)
def test_a_body_of_50_megabytes_is_refused(server: LiveServer) -> None:
    with server.client(server.full) as client:
        answer = client.post("/runs", content=bytes(50_000_000), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert answer.json()["code"] == "too_large"
    assert answer.headers["connection"] == "close"


def test_a_client_that_asks_first_need_not_send_a_large_body(server: LiveServer) -> None:
    head = b"POST /runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5000000\r\nExpect: 100-continue\r\n\r\n"
    status, _, _ = send(server, head)  # an answer without a byte of the body, and without "100 Continue"
    assert status == 413


def test_a_chunked_body_without_an_end_is_refused(server: LiveServer) -> None:
    head = b"POST /runs HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + bytes(65536) + b"\r\n"
    with server.connect() as connection:
        connection.sendall(head)
        sent = 0
        try:
            while not select.select([connection], [], [], 0)[0]:
                connection.sendall(chunk)
                sent += len(chunk)
                assert sent < 4_000_000_000, "the server reads on and on"
        except (BrokenPipeError, ConnectionResetError):
            pass
        status, _, _ = receive(connection)
    assert status in {413, 0}  # 0: the answer was lost because we still wrote
    assert sent > 1_048_576


@pytest.mark.parametrize(
    "start",
    [
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
        b"G",
        b"POST /runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n{",
        b"POST /runs HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    ],
)
def test_a_client_that_stops_in_the_middle_is_answered_and_left(server: LiveServer, start: bytes) -> None:
    status, head, body = send(server, start)
    assert status == 408
    assert b"connection: close" in head
    assert json.loads(body)["code"] == "timeout"


def test_a_connection_that_never_asks_is_closed(server: LiveServer) -> None:
    assert send(server) == (0, b"", b"")


def test_a_client_that_does_not_read_its_answer_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LimitedProtocol, "write_seconds", 0.5)
    lazy = LiveServer(tmp_path)

    @lazy.app.get("/large")
    async def large() -> Response:
        return Response(bytes(100_000_000))

    with lazy, lazy.connect() as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        end = time.monotonic() + PATIENCE_S
        while lazy.server.server_state.connections:
            assert time.monotonic() < end
            time.sleep(0.02)


def test_headers_without_an_end_are_refused(server: LiveServer) -> None:
    status, _, body = send(server, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ", b"a" * 70_000)
    assert status == 431
    assert json.loads(body)["code"] == "headers_too_large"


@pytest.mark.parametrize("headers", [[f"X-Long: {'a' * 40_000}"], [f"X-{n}: a" for n in range(101)]])
def test_large_or_many_headers_are_refused(server: LiveServer, headers: list[str]) -> None:
    assert get(server, "/healthz", *headers)[0] == 431


def test_long_paths_and_queries_are_refused(server: LiveServer) -> None:
    assert get(server, "/" + "a" * 8200)[0] == 414
    assert get(server, "/runs?search=" + "a" * 8200)[0] == 414
    assert get(server, "/healthz?" + "a" * 8000)[0] == 200


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40) + b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"POST /runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Request-ID: a\rSet-Cookie: b=c\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX Y: a\r\n\r\n",
        b"POST /runs HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_not_http_is_refused(server: LiveServer, request_bytes: bytes) -> None:
    """Among them two lengths of one body, by which a proxy could be made to see another request than the service."""
    status, head, body = send(server, request_bytes)
    assert status == 400
    assert b"set-cookie" not in head
    assert json.loads(body)["code"] == "invalid"


@pytest.mark.parametrize(
    "host", ["evil.example", "a" * 30_000, "127.0.0.1.evil.example", "localhost.evil.example:80", ""]
)
def test_other_host_names_are_refused(server: LiveServer, host: str) -> None:
    """DNS rebinding: a page of another name that resolves to this address."""
    status, _, body = send(server, f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert status == 400
    assert "host name" in json.loads(body)["message"]


def test_a_request_id_is_kept_if_it_is_one(server: LiveServer) -> None:
    with server.client() as client:
        assert client.get("/healthz", headers={"X-Request-ID": "abc-1.2_3"}).headers["x-request-id"] == "abc-1.2_3"
        made = set()
        for wrong in ("a b", "a\tb", '"', "a" * 65, "<script>", "é"):
            headers = [(b"x-request-id", wrong.encode("latin-1"))]
            answer = client.get("/healthz", headers=headers)
            assert answer.headers["x-request-id"].isalnum()
            made.add(answer.headers["x-request-id"])
        assert len(made) == 6


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 500_000,
        b'{"key": ' * 100_000,
        b'{"key": "\xff\xfe"}',
        b'{"key": "\\ud800"}',
        b'{"key": ' + b"9" * 10_000 + b"}",
        b'{"key": NaN}',
        b'{"key": null}',
        b'{"key": ["a"]}',
        b'{"key": "a", "__proto__": {}}',
        b"null",
        b"\x00",
        b"{",
        b"",
        b'{"key": "' + b"a" * 1_000_000 + b'"}',
    ],
)
def test_bodies_that_are_no_request_are_refused(server: LiveServer, body: bytes) -> None:
    with server.client() as client:
        answer = client.post("/session", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in {400, 422}
    assert len(answer.content) < 2000


def test_a_wrong_key_is_not_repeated(server: LiveServer) -> None:
    secret = "mvk_01234567_" + "s" * 43
    with server.client(secret) as client:
        answers = [
            client.get("/session"),
            client.post("/session", json={"key": secret}),
            client.post("/session", json={"key": secret, secret: 1}),
            client.post("/session", json={"key": [secret]}),
            client.get(f"/{secret}"),
        ]
    assert [answer.status_code for answer in answers] == [401, 401, 422, 422, 404]
    for answer in answers:
        assert "s" * 43 not in answer.text
        assert "s" * 43 not in str(answer.headers)


@pytest.mark.parametrize("method", ["TRACE", "OPTIONS", "PUT", "PATCH", "POST"])
def test_other_methods_do_nothing(server: LiveServer, method: str) -> None:
    with server.client(server.full, Origin="https://evil.example") as client:
        answer = client.request(method, "/keys/nobody")
    assert answer.status_code == 405
    assert not any(name.startswith("access-control") for name in answer.headers)


def test_upgrades_to_other_protocols_are_ignored(server: LiveServer) -> None:
    for wanted in ("websocket", "h2c"):
        headers = ["Connection: Upgrade", f"Upgrade: {wanted}", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="]
        lines = ["GET /healthz HTTP/1.1", "Host: 127.0.0.1", *headers]
        with server.connect() as connection:
            connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            assert connection.recv(4096).startswith(b"HTTP/1.1 200")


def test_pipelined_requests_are_answered_in_order(server: LiveServer) -> None:
    one = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Request-ID: first\r\n\r\n"
    other = b"GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Request-ID: second\r\nConnection: close\r\n\r\n"
    with server.connect() as connection:
        connection.sendall(one + other)
        received = b""
        while piece := connection.recv(65536):
            received += piece
    assert received.index(b"x-request-id: first") < received.index(b"x-request-id: second")
    assert received.count(b"HTTP/1.1") == 2
