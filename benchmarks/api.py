"""Reads of the service: requests per second against a bare FastAPI route that returns as many bytes.

Both servers are uvicorn with the same loop and parser, one process each, on loopback. The service does everything that
it does for a user: keys, rate limits, security headers, request ids, log lines, metrics. The bare route returns bytes
that exist already: it is the upper limit of what the framework can do. On a busy machine compare the CPU times.
"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.measuring.report import Effort, Quantity, Row, Section, Target
from benchmarks.measuring.timing import Timing, in_turns
from mayavi.records.parquet import Value
from mayavi.sim.rows import RunCounts, RunEnd, RunInfo
from mayavi.sim.store import Store, new_run_id
from mayavi.sim.store.database.segments import SegmentFolder
from mayavi.sim.store.recorder import run_row

RUNS, QUICK_RUNS = 10_000, 60
REQUESTS, QUICK_REQUESTS = 600, 40
ROUNDS = 25
CONNECTIONS = 8
LIMIT = 0.6
PATIENCE_S = 300.0
KEY = "benchmark-of-the-service-0"
_SERVE = "from benchmarks.api import {server}; {server}(*__import__('sys').argv[1:])"


def measure(effort: Effort) -> Section:
    """Store many runs, serve them, and read one of them and the first page of the list."""
    runs = QUICK_RUNS if effort.quick else RUNS
    requests = QUICK_REQUESTS if effort.quick else REQUESTS
    section = Section("api", f"reads of the service over {runs:,} stored runs, {CONNECTIONS} connections")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        newest = store_runs(folder / "runs.duckdb", runs)
        with serving("serve_service", str(folder)) as service:
            for what, path in (("GET /runs/{id}", f"/runs/{newest}"), ("GET /runs?limit=50", "/runs?limit=50")):
                ours = Reader(service, path, KEY)
                size = ours.warm_up()
                with serving("serve_bare", str(size)) as bare:
                    limit = Reader(bare, "/bare", KEY)
                    limit.warm_up()
                    compare(section, what, size, ours, limit, requests, effort.rounds(ROUNDS))
    return section


def compare(section: Section, what: str, size: int, ours: Reader, limit: Reader, requests: int, rounds: int) -> None:
    """Measure both in turns and add rows and target."""
    contestants: dict[str, Callable[[], float]] = {
        "service": lambda: ours.seconds_each(requests),
        "bare": lambda: limit.seconds_each(requests),
    }
    found = in_turns(contestants, rounds)
    share = found["bare"].ratio(found["service"])
    ratios = sorted(bare / own for bare, own in zip(found["bare"].rounds, found["service"].rounds, strict=True))
    beside = {
        "of_the_limit": Quantity(share, "%"),
        "lowest": Quantity(ratios[0], "%"),
        "highest": Quantity(ratios[-1], "%"),
    }
    section.rows.append(Row(f"{what}, {size:,} bytes", figures(found["service"]) | cpu(ours) | beside))
    section.rows.append(Row(f"bare FastAPI route, {size:,} bytes", figures(found["bare"]) | cpu(limit)))
    section.targets.append(Target(f"{what} against a bare route", Quantity(LIMIT, "%"), Quantity(share, "%"), False))


def figures(timing: Timing) -> dict[str, Quantity]:
    """Requests per second."""
    return {
        "median": Quantity(1 / timing.median, "/s"),
        "fastest": Quantity(1 / timing.fastest, "/s"),
        "spread": Quantity(timing.spread, "%"),
    }


def cpu(reader: Reader) -> dict[str, Quantity]:
    """CPU time of the server for one request."""
    return {"cpu": Quantity(reader.cpu_s / reader.asked * 1e6, "µs")} if reader.cpu_s else {}


class Served(NamedTuple):
    """A server in a process of its own."""

    port: int
    pid: int

    def cpu_s(self) -> float:
        """CPU time of the process so far; 0 where the system does not tell it."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Reader:
    """A client with a few connections, each of which has one request under way."""

    def __init__(self, server: Served, path: str, key: str) -> None:
        self.server, self.asked, self.cpu_s = server, 0, 0.0
        port = server.port
        self.request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
        self.connections = [socket.create_connection(("127.0.0.1", port), PATIENCE_S) for _ in range(CONNECTIONS)]

    def warm_up(self) -> int:
        """Ask a few times; return the size of the body."""
        self.seconds_each(4 * CONNECTIONS)
        one = self.connections[0]
        one.sendall(self.request)
        self.asked, self.cpu_s = 0, 0.0
        return len(read_answer(one, bytearray()))

    def seconds_each(self, requests: int) -> float:
        """Return the seconds of one request, of `requests` over all connections."""
        waiting = selectors.DefaultSelector()
        for connection in self.connections:
            waiting.register(connection, selectors.EVENT_READ, bytearray())
        began, cpu = time.perf_counter(), self.server.cpu_s()
        asked = done = 0
        for connection in self.connections:
            connection.sendall(self.request)
            asked += 1
        while done < asked:
            ready = waiting.select(PATIENCE_S)
            if not ready:
                raise RuntimeError("the server does not answer")
            for each, _ in ready:
                connection = each.fileobj  # type: ignore[assignment]
                read_answer(connection, each.data)
                done += 1
                if asked < requests:
                    connection.sendall(self.request)
                    asked += 1
        self.cpu_s += self.server.cpu_s() - cpu
        self.asked += done
        return (time.perf_counter() - began) / done


def read_answer(connection: socket.socket, buffer: bytearray) -> bytes:
    """Read one answer and return its body; anything but 200 is an error."""
    del buffer[:]
    while (end := buffer.find(b"\r\n\r\n")) < 0:
        _receive(connection, buffer)
    head = bytes(buffer[:end]).lower()
    if not head.startswith(b"http/1.1 200"):
        raise RuntimeError(f"the server answered {head.splitlines()[0].decode()}")
    start = head.index(b"content-length:") + len(b"content-length:")
    size = int(head[start:].split(b"\r\n", 1)[0])
    while len(buffer) < end + 4 + size:
        _receive(connection, buffer)
    return bytes(buffer[end + 4 :])


def _receive(connection: socket.socket, buffer: bytearray) -> None:
    part = connection.recv(1 << 18)
    if not part:
        raise RuntimeError("the server closed the connection")
    buffer += part


@contextmanager
def serving(server: str, *arguments: str) -> Iterator[Served]:
    """Run one of the servers below in a process of its own."""
    environment = os.environ | {"MAYAVI_API_KEY": KEY, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE.format(server=server), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline() or 0)
        if not port:
            raise RuntimeError(f"{server} did not start: exit code {process.wait()}")
        wait_for(port)
        yield Served(port, process.pid)
    finally:
        process.terminate()
        process.wait()


def wait_for(port: int) -> None:
    """Return when the server accepts connections."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", port), 1) as connection:
                connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
                if connection.recv(1):
                    return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"nobody answers on port {port}")


# -- in the servers' processes ----------------------------------------------------------------------------------------


def serve_service(folder: str) -> None:
    """Serve the service itself; its key may ask as often as it likes."""
    from mayavi.api.app import create_app
    from mayavi.api.server import bind, serve
    from mayavi.api.settings import ServiceSettings

    place = Path(folder)
    settings = ServiceSettings(
        data=place / "service", store=place / "runs.duckdb", workers=0, requests_per_minute=1_000_000_000
    )
    app = create_app(settings)
    listener = bind("127.0.0.1", 0)
    print(listener.getsockname()[1], flush=True)
    serve(app, listener)


def serve_bare(size: str) -> None:
    """Serve a FastAPI application with one route that returns `size` bytes."""
    import uvicorn
    from fastapi import FastAPI, Response

    from mayavi.api.server import bind

    app = FastAPI()
    body = b"x" * int(size)

    @app.get("/bare")
    async def bare() -> Response:
        return Response(body, media_type="application/json")

    listener = bind("127.0.0.1", 0)
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, access_log=False, log_level="warning")).run(sockets=[listener])


def store_runs(path: Path, count: int) -> str:
    """Store runs without steps, the newest with KPIs; return its id."""
    scenario = "name: benchmark\nchain: ethereum\nsteps: 24\nagents: {}\n"
    ids = [new_run_id() for _ in range(count)]
    rows = []
    for seed, run_id in enumerate(ids):
        began = time.time() - count + seed
        info = RunInfo(run_id, "benchmark", scenario, seed, 24, "ethereum", "replica", "0" * 64, {}, began)
        counts = RunCounts(24, 100, 3, 0, 1000)
        rows.append(run_row(info, RunEnd("finished", f"{seed:064x}", (), "0" * 64, {"total": 1.0}, "", counts)))
    kpis: list[list[Value]] = [
        [ids[-1], number, f"figure_{number}", str(number), float(number), "count"] for number in range(24)
    ]
    folder = SegmentFolder(path)
    folder.create()
    tables = {"runs": rows, "kpis": kpis}
    folder.write(ids[0], 0, {name: list(map(list, zip(*each, strict=True))) for name, each in tables.items()})
    Store(path).merge(patience_s=PATIENCE_S)
    return ids[-1]
