"""A JSON-RPC server on loopback that misbehaves on command, and a clock on which no test has to wait.

Every HTTP request takes the next fault off `FaultyServer.faults`; without one it is answered as a good node would.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from mayavi.evm.rpc.client import Clock

KEY = "s3cret-key-0123456789abcdef"


@dataclass
class Reply:
    """An answer about to be sent; a fault changes it."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content: Any = None
    body: bytes | None = None
    announced: int | None = None  # Content-Length, if it shall differ from the body's
    hang: bool = False
    hang_up: bool = False
    drip: bool = False


Fault = Callable[[Reply], None]


def status(code: int, **headers: str) -> Fault:
    def change(reply: Reply) -> None:
        reply.status, reply.body = code, b"not today"
        reply.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    return change


def hang(reply: Reply) -> None:
    reply.hang = True


def hang_up(reply: Reply) -> None:
    reply.hang_up = True


def drip(reply: Reply) -> None:
    """The body comes byte by byte, each soon after the one before, and goes on for seconds."""
    reply.drip, reply.announced = True, 1_000_000


def truncated(reply: Reply) -> None:
    """The body stops in the middle although the header announced all of it."""
    whole = json.dumps(reply.content).encode()
    reply.body, reply.announced = whole[: len(whole) // 2], len(whole)


def cut_json(reply: Reply) -> None:
    """A complete HTTP answer with half of a JSON text."""
    whole = json.dumps(reply.content).encode()
    reply.body = whole[: len(whole) // 2]


def body(raw: bytes) -> Fault:
    def change(reply: Reply) -> None:
        reply.body = raw

    return change


def items(change_items: Callable[[list[dict[str, Any]]], list[Any]]) -> Fault:
    """Change the list of answers of a batch (a single answer is a list of one)."""

    def change(reply: Reply) -> None:
        answers = reply.content if isinstance(reply.content, list) else [reply.content]
        changed = change_items(answers)
        reply.content = changed if isinstance(reply.content, list) else changed[0]

    return change


def every(**members: Any) -> Fault:
    """Set members of every answer: result= or error= replace what it says, others such as id= leave that as it is."""

    def change(answers: list[dict[str, Any]]) -> list[Any]:
        for answer in answers:
            if members.keys() & {"result", "error"}:
                answer.pop("result", None)
                answer.pop("error", None)
            answer.update(members)
        return answers

    return items(change)


class FaultyServer:
    """The server. `requests` holds the calls of every HTTP request it got; a subclass says what `answer` is."""

    def __init__(self) -> None:
        self.faults: list[Fault | None] = []
        self.requests: list[list[dict[str, Any]]] = []
        self.request_headers: list[dict[str, str]] = []
        self.released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.002})
        self._thread.start()

    def answer(self, question: Any) -> Any:
        """The answer of a good node to one call or to a batch of them."""
        raise NotImplementedError

    @property
    def host(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        return f"{self.host}/v2/{KEY}?token={KEY}"

    def asked(self, method: str) -> int:
        return sum(call["method"] == method for request in self.requests for call in request)

    def reply(self, question: Any) -> Reply:
        self.requests.append(question if isinstance(question, list) else [question])
        reply = Reply(content=self.answer(question))
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            fault(reply)
        return reply

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=10)


class SteppedClock:
    """A clock that a sleep moves at once, and that remembers the sleeps."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now
        self.sleeps: list[float] = []

    def clock(self) -> Clock:
        return Clock(wall=lambda: self.now, sleep=self.sleep, jitter=lambda: 0.0)

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


def _handler(server: FaultyServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.request_headers.append({**self.headers, ":path": self.path})
            reply = server.reply(question)
            if reply.hang:
                server.released.wait(timeout=10)
                self.close_connection = True
                return
            if reply.hang_up:
                self.close_connection = True
                return
            raw = reply.body if reply.body is not None else json.dumps(reply.content).encode()
            if reply.announced is not None:
                self.close_connection = True
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw) if reply.announced is None else reply.announced))
            self.end_headers()
            if not reply.drip:
                self.wfile.write(raw)
                return
            with suppress(OSError):
                for _ in range(300):  # three seconds, far beyond the deadline of any test
                    if server.released.wait(timeout=0.01):
                        break
                    self.wfile.write(b" ")

        def log_message(self, *_: object) -> None:
            pass

    return Handler
