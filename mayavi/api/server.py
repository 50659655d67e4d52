"""Serve the application with uvicorn until a signal ends it."""

from __future__ import annotations

import signal
import socket
from types import FrameType

import uvicorn
from fastapi import FastAPI

from mayavi.api.log import LOGGING
from mayavi.api.security.protocol import LimitedProtocol
from mayavi.api.service import Service
from mayavi.errors import UsageError

_GRACE_S = 10
_MOST_CONNECTIONS = 900
"""Below the 1,024 open files that many systems allow a process."""


class Server(uvicorn.Server):
    """Uvicorn server that ends open event streams on shutdown."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self.service = service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note the signal. SIGTERM is the ordinary end: it is not raised again afterwards."""
        self.service.stopping.set()
        super().handle_exit(sig, frame)
        if sig == signal.SIGTERM:
            self._captured_signals.remove(sig)


def bind(host: str, port: int) -> socket.socket:
    """Open the listening socket; port 0 takes a free one."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"cannot listen on {host}:{port}: {reason}", "choose another `--host` or `--port`") from error
    listener.set_inheritable(False)
    return listener


def make_server(app: FastAPI, *, proxies: str | None = None) -> Server:
    """Build the server; `run(sockets=[…])` serves until SIGINT or SIGTERM. Running requests have ten seconds to end.

    `proxies` are the addresses whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed.
    """
    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=LOGGING,
        server_header=False,
        proxy_headers=proxies is not None,
        forwarded_allow_ips=proxies,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=_GRACE_S,
    )
    return Server(config, app.state.service)


def serve(app: FastAPI, listener: socket.socket, *, proxies: str | None = None) -> None:
    """Serve on a socket of `bind` until SIGINT or SIGTERM."""
    make_server(app, proxies=proxies).run(sockets=[listener])
