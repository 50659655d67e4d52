"""An address that is almost right: the dashboard's, a proxy's other port, http instead of https, another server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mayavi.client import Client
from mayavi.errors import MayaviError, ServiceUnreachable
from tests.api.queue.service_process import KEY, ServiceProcess


@contextmanager
def another_server(status: int, body: str, **headers: str) -> Iterator[str]:
    """Address of a server that gives one answer to everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("path", ["/", "/app", "/app/", "/app/runs?status=finished", "/app/#key=mvk_x"])
def test_the_address_of_the_dashboard_is_that_of_its_service(service: ServiceProcess, path: str) -> None:
    with Client(service.url + path, KEY) as client:
        client.check()
    assert client.url == service.url


ANSWERS = [
    (301, "", {"Location": "https://mayavi.example.org/session"}, r"sent on to https://mayavi.example.org\n"),
    (200, "<!doctype html><p>Welcome", {}, "not a service of Mayavi"),
    (400, "<h1>The plain HTTP request was sent to HTTPS port</h1>", {}, "answered 400 without a reason"),
]


@pytest.mark.parametrize(("status", "body", "headers", "message"), ANSWERS)
def test_what_answers_there_is_said(status: int, body: str, headers: dict[str, str], message: str) -> None:
    with another_server(status, body, **headers) as url, Client(url, KEY) as client:
        for call in (client.check, lambda: client.show("a-run")):
            with pytest.raises(MayaviError, match=message) as refused:
                call()
            assert "address" in str(refused.value.hint)


def test_tls_without_a_proxy_is_refused_at_once(service: ServiceProcess) -> None:
    with (
        Client(service.url.replace("http://", "https://"), KEY, patience_s=600) as client,
        pytest.raises(ServiceUnreachable, match="does not speak TLS") as refused,
    ):
        client.show("a-run")
    assert "http://" in str(refused.value.hint)
