"""The service on a loopback port, in a thread of the test process."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from mayavi.api.app import create_app
from mayavi.api.security.sessions import COOKIE
from mayavi.api.server import bind, make_server
from mayavi.api.service import Service
from mayavi.api.settings import ServiceSettings

PATIENCE_S = 300.0


class LiveServer:
    """Serve `create_app(settings)` by uvicorn as `mayavi serve` does, without workers unless asked for."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        settings = {"workers": 0, "allowed_hosts": (), "log_requests": False, "data": folder / "service", **settings}
        self.app = create_app(ServiceSettings(store=folder / "runs.duckdb", **settings))
        self.listener = bind("127.0.0.1", 0)
        self.port: int = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.server = make_server(self.app)
        self._clients: list[httpx.Client] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.full = str(self.service.keys.create("full", "full")[1])
        self.read = str(self.service.keys.create("read", "read")[1])

    @property
    def service(self) -> Service:
        """The parts behind the routes."""
        service: Service = self.app.state.service
        return service

    def _run(self) -> None:
        asyncio.run(self.server.serve(sockets=[self.listener]))

    def __enter__(self) -> Self:
        self._thread.start()
        end = time.monotonic() + PATIENCE_S
        while not self.server.started and self._thread.is_alive() and time.monotonic() < end:
            time.sleep(0.01)
        assert self.server.started, "the server did not start"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for client in self._clients:
            client.close()
        self.service.stopping.set()
        self.server.should_exit = True
        self._thread.join(PATIENCE_S)

    def client(self, key: str | None = None, **headers: str) -> httpx.Client:
        """Return a client that sends `key`, if given, and `headers`; it reads no certificates, which takes 50 ms."""
        bearer = {"Authorization": f"Bearer {key}"} if key else {}
        client = httpx.Client(base_url=self.url, headers={**bearer, **headers}, timeout=PATIENCE_S, verify=False)
        self._clients.append(client)
        return client

    def browser(self, key: str | None = None) -> httpx.Client:
        """Return a client with a session, as the dashboard has one: cookie, CSRF token and origin."""
        answer = httpx.post(f"{self.url}/session", json={"key": key or self.full}, timeout=PATIENCE_S, verify=False)
        assert answer.status_code == 201, answer.text
        client = self.client(**{"Origin": self.url, "X-CSRF-Token": answer.json()["csrf_token"]})
        client.cookies.set(COOKIE, answer.cookies[COOKIE])
        return client

    def connect(self) -> socket.socket:
        """Open a connection for bytes that no client would send."""
        connection = socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)
        connection.settimeout(PATIENCE_S)
        return connection
