"""The service under load: readers beside a full queue, killed processes, and memory over many runs.

python -m benchmarks --only load
python -m benchmarks.load --memory 1000
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks.measuring.report import Effort, Quantity, Row, Section, Target
from benchmarks.subjects.service import PATIENCE_S, TINY, ServiceProcess, wait_for
from benchmarks.subjects.stored_runs import not_once

READERS, QUEUED, SECONDS = 200, 20, 60.0
QUICK_READERS, QUICK_QUEUED, QUICK_SECONDS = 20, 4, 3.0
KILLED_RUNS, QUICK_KILLED_RUNS = 20, 5
THINK_S = 1.0
"""Pause of a reader between two requests: a dashboard asks about once a second."""
MARKS = (0, 100, 500, 1000)
GROWTH_MB = 50.0


@dataclass
class Load:
    """What happened under load."""

    latencies: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    submitted: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """Runs that did not end as finished exactly once, with what was found instead."""
    ended: int = 0
    """Number of runs that ended during the minute."""
    seconds: float = 0.0
    """How long the readers asked."""
    server_cpu_s: float = 0.0
    workers_cpu_s: float = 0.0
    readers_cpu_s: float = 0.0
    """CPU time of the readers and submitters, which share the machine."""

    def note(self, route: str, seconds: float) -> None:
        """Add a measured request."""
        self.latencies.setdefault(route, []).append(seconds)


def measure(effort: Effort) -> Section:
    """Measure readers beside a full queue, then kill a worker and the server."""
    readers, queued, seconds = (
        (QUICK_READERS, QUICK_QUEUED, QUICK_SECONDS) if effort.quick else (READERS, QUEUED, SECONDS)
    )
    section = Section("load", f"service: {readers} readers and {queued} queued runs for {seconds:.0f} s")
    with tempfile.TemporaryDirectory() as place:
        with ServiceProcess(Path(place) / "load", "--workers", "1") as service:
            found = asyncio.run(load(service, readers, queued, seconds))
        for route, latencies in sorted(found.latencies.items()):
            each_second = {"throughput": Quantity(len(latencies) / found.seconds, "/s")}
            section.rows.append(Row(route, percentiles(latencies) | each_second))
        section.rows.append(Row("CPU time", cpu_figures(found)))
        count = Quantity(len(found.submitted), "runs")
        failures = {"errors": Quantity(len(found.errors), ""), "lost": Quantity(len(found.lost), "runs")}
        counts = {"count": count, "ended meanwhile": Quantity(found.ended, "runs")}
        section.rows.append(Row("submitted", counts | failures))
        section.notes += [*dict.fromkeys(found.errors[:5]), *found.lost[:5]]
        killed = kill_and_resume(Path(place) / "killed", QUICK_KILLED_RUNS if effort.quick else KILLED_RUNS)
    section.rows.append(Row("kill -9 of a worker, then of the server", {"lost": Quantity(len(killed), "runs")}))
    section.notes += killed[:5]
    none = Quantity(0, "")
    section.targets += [
        Target("errors under load", none, failures["errors"]),
        Target("lost runs under load", none, Quantity(len(found.lost), "")),
        Target("lost or repeated runs after kill -9", none, Quantity(len(killed), "")),
    ]
    return section


def percentiles(latencies: list[float]) -> dict[str, Quantity]:
    """Return count, median and 95th percentile of seconds."""
    cuts = statistics.quantiles(latencies, n=100, method="inclusive") if len(latencies) > 1 else latencies * 99
    return {
        "count": Quantity(len(latencies), ""),
        "p50": Quantity(cuts[49] * 1e3, "ms"),
        "p95": Quantity(cuts[94] * 1e3, "ms"),
        "slowest": Quantity(max(latencies) * 1e3, "ms"),
    }


def cpu_figures(found: Load) -> dict[str, Quantity]:
    """Return the CPU time of the server for each request, and what each party used of a core."""
    requests = sum(map(len, found.latencies.values()))
    return {
        "server, each request": Quantity(found.server_cpu_s / max(1, requests) * 1e3, "ms"),
        "server": Quantity(found.server_cpu_s / found.seconds, "%"),
        "workers": Quantity(found.workers_cpu_s / found.seconds, "%"),
        "readers": Quantity(found.readers_cpu_s / found.seconds, "%"),
    }


# Readers and a full queue


async def load(service: ServiceProcess, readers: int, queued: int, seconds: float) -> Load:
    """Let `readers` poll for `seconds` while the queue holds `queued` runs; then wait until all runs have ended."""
    found = Load()
    async with AsyncExitStack() as stack:

        async def connect(headers: dict[str, str]) -> httpx.AsyncClient:
            """Return a client of one reader: a shared one searches all its connections for each request."""
            options: dict[str, Any] = {"base_url": service.url, "headers": headers, "timeout": 300}
            return await stack.enter_async_context(httpx.AsyncClient(**options, verify=False, trust_env=False))

        own = await connect(service.headers)
        keys = [await new_key(own, f"reader {number}") for number in range(readers)]
        submitters = [await connect(service.headers) for _ in range(queued)]
        pollers = [await connect(key) for key in keys]
        before, began = cpu_times(service), time.monotonic()
        until = began + seconds
        following = [
            asyncio.ensure_future(submit_and_follow(each, found, until, slot)) for slot, each in enumerate(submitters)
        ]
        await asyncio.gather(
            *(read(each, found, until, number, number / readers) for number, each in enumerate(pollers))
        )
        found.seconds = time.monotonic() - began
        used = [after - first for after, first in zip(cpu_times(service), before, strict=True)]
        found.server_cpu_s, found.workers_cpu_s, found.readers_cpu_s = used
        await asyncio.gather(*following)
        await wait_for_queue(own)
    found.lost += await asyncio.to_thread(not_once, service.store, found.submitted)
    return found


async def new_key(client: httpx.AsyncClient, name: str) -> dict[str, str]:
    """Create a key for a reader, since limits are those of a key; return the headers that carry it."""
    answer = await client.post("/keys", json={"name": name, "scope": "read"})
    return {"Authorization": f"Bearer {answer.raise_for_status().json()['key']}"}


def cpu_times(service: ServiceProcess) -> tuple[float, float, float]:
    """Return the CPU time so far of the server, its workers and this process."""
    return service.cpu_s(), service.workers_cpu_s(), time.process_time()


async def read(client: httpx.AsyncClient, found: Load, until: float, number: int, phase: float) -> None:
    """Ask what a dashboard asks, about once a second, beginning with question `number` after a part of the pause."""
    await asyncio.sleep(phase * THINK_S)
    while time.monotonic() < until:
        run_id = found.submitted[number % len(found.submitted)] if found.submitted else None
        routes = ["/runs", "/scenarios", f"/runs/{run_id}" if run_id else "/runs", "/healthz", "/sweeps"]
        route = routes[number % len(routes)]
        number += 1
        await timed(client, found, "GET", route, "/runs/{run_id}" if route.count("/") == 2 else route)
        await asyncio.sleep(THINK_S)


async def submit_and_follow(client: httpx.AsyncClient, found: Load, until: float, slot: int) -> None:
    """Submit one run after another, each followed through its event stream to its end."""
    while time.monotonic() < until:
        answer = await timed(client, found, "POST", "/runs", "POST /runs", json=TINY | {"seed": len(found.submitted)})
        if answer is None:
            await asyncio.sleep(THINK_S)
            continue
        run_id = answer.json()["run_id"]
        found.submitted.append(run_id)
        try:
            last = await last_event(client, run_id)
        except httpx.HTTPError as error:
            found.errors.append(f"events of slot {slot}: {error!r}")
            continue
        if last != "finished":
            found.errors.append(f"the events of run {run_id} end with '{last}'")
        found.ended += time.monotonic() < until


async def last_event(client: httpx.AsyncClient, run_id: str) -> str:
    """Follow a run to the end of its stream and return the kind of the last event."""
    kind = ""
    async with client.stream("GET", f"/runs/{run_id}/events") as answer:
        answer.raise_for_status()
        async for line in answer.aiter_lines():
            if line.startswith("data:"):
                kind = json.loads(line.removeprefix("data:"))["kind"]
    return kind


async def timed(
    client: httpx.AsyncClient, found: Load, method: str, path: str, name: str, **options: Any
) -> httpx.Response | None:
    """Send a request, note its time, and note an answer that is no success."""
    began = time.perf_counter()
    try:
        answer = await client.request(method, path, **options)
    except httpx.HTTPError as error:
        found.errors.append(f"{method} {path}: {error!r}")
        return None
    found.note(name, time.perf_counter() - began)
    if answer.is_success:
        return answer
    found.errors.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
    return None


async def wait_for_queue(client: httpx.AsyncClient) -> None:
    """Wait until no run waits or runs."""
    active: dict[str, Any] = {"status": ["queued", "running", "cancelling"], "limit": 1}
    deadline = time.monotonic() + PATIENCE_S
    while (await client.get("/runs", params=active)).raise_for_status().json()["total"]:
        if time.monotonic() >= deadline:
            raise TimeoutError("waited in vain for the queue to be empty")
        await asyncio.sleep(0.05)


# Killed processes


def kill_and_resume(folder: Path, count: int) -> list[str]:
    """Kill a worker, then the server, each in the middle of a run; return what is wrong after the restart."""
    service = ServiceProcess(folder, "--workers", "1")
    service.start()
    try:
        with service.client() as client:
            run_ids = [service.submit(client, seed=seed, steps=40) for seed in range(count)]
            (worker, *_) = wait_for(lambda: running(client, run_ids) and service.workers(), "a run to begin")
            os.kill(worker, signal.SIGKILL)
            wait_for(lambda: ended(client, run_ids) >= 1, "a run to end after its worker was killed")
            wait_for(lambda: running(client, run_ids) or ended(client, run_ids) == count, "the next run to begin")
        service.kill()
        service.start()
        with service.client() as client:
            statuses = service.wait_for_runs(client, run_ids)
            wrong = [f"run {run_id} is {status}" for run_id, status in statuses.items() if status != "finished"]
            for run_id in run_ids:
                kinds = Counter(each["kind"] for each in events(client, run_id))
                if kinds["finished"] != 1:
                    wrong.append(f"run {run_id} has {kinds['finished']} events `finished`")
    finally:
        service.stop()
    return wrong + not_once(service.store, run_ids)


def running(client: httpx.Client, run_ids: list[str]) -> list[str]:
    """Return the runs that have begun and not ended."""
    found = client.get("/runs", params={"status": "running", "limit": 1000}).raise_for_status().json()["items"]
    return [each["run_id"] for each in found if each["run_id"] in run_ids]


def ended(client: httpx.Client, run_ids: list[str]) -> int:
    """Count the runs that have finished."""
    found = client.get("/runs", params={"status": "finished", "limit": 1000}).raise_for_status().json()["items"]
    return sum(each["run_id"] in run_ids for each in found)


def events(client: httpx.Client, run_id: str) -> list[dict[str, Any]]:
    """Return all events of a run that has ended."""
    lines = client.get(f"/runs/{run_id}/events").raise_for_status().text.splitlines()
    return [json.loads(line.removeprefix("data:")) for line in lines if line.startswith("data:")]


# Memory


def memory(folder: Path, runs: int, marks: tuple[int, ...] = MARKS) -> dict[int, float]:
    """Return the server's resident memory in MB after 0, 100, 500 … tiny runs."""
    found: dict[int, float] = {}
    with ServiceProcess(folder, "--workers", "1") as service, service.client() as client:
        done = 0
        for mark in [*(each for each in marks if each < runs), runs]:
            while done < mark:
                batch = min(50, mark - done)
                service.wait_for_runs(client, [service.submit(client, seed=done + each) for each in range(batch)])
                done += batch
                client.get("/runs").raise_for_status()
            found[mark] = service.memory_mb()
            sys.stderr.write(f"after {mark} runs: {found[mark]:.1f} MB\n")
    return found


def main() -> None:
    """Print the server's memory over many runs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=main.__doc__)
    parser.add_argument("--memory", type=int, default=MARKS[-1], metavar="RUNS", help="how many tiny runs")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        found = memory(Path(place) / "memory", asked.memory)
    first = found[min((each for each in found if each >= 100), default=0)]
    print(json.dumps({"rss_mb": found, "growth_mb": found[max(found)] - first}))


if __name__ == "__main__":
    main()
