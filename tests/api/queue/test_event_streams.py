"""Event streams: many at once without threads, heartbeats, and one query for all that wait for the same event."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import httpx
import pytest

from mayavi.api.database import ServiceDatabase
from mayavi.api.queue.event_hub import EventHub
from mayavi.api.queue.jobs import JobQueue
from mayavi.api.routes import events as routes
from mayavi.api.security.caller import Caller
from tests.api.queue.conftest import StartService
from tests.api.queue.service_process import KEY, LONG, until_running

STREAMS = 200


class Parts:
    """What a stream needs of the service."""

    def __init__(self, folder: Path) -> None:
        self.queue = JobQueue(ServiceDatabase(folder))
        self.events = EventHub(self.queue)
        self.stopping = threading.Event()
        self.queue.submit("run", "a", "s", "base", "{}", Caller("k", "K", "full"), None, total=4)


def test_a_stream_sends_events_as_they_happen_and_ends_with_the_job(tmp_path: Path) -> None:
    parts = Parts(tmp_path)

    async def follow() -> str:
        text = ""
        async for part in routes._events_of_job(parts, "a", 0):
            text += part
            if "event: queued" in part:
                threading.Thread(target=parts.queue.claim).start()
            if "event: started" in part:
                threading.Thread(target=parts.queue.end, args=("a", "finished")).start()
        return text

    sent = [line for line in asyncio.run(follow()).splitlines() if line.startswith("event:")]
    assert sent == ["event: queued", "event: started", "event: finished"]
    assert parts.events.streams == 0


def test_a_silent_stream_sends_heartbeats_until_the_server_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "HEARTBEAT_S", 0.02)
    monkeypatch.setattr(routes, "_TICK_S", 0.01)
    parts = Parts(tmp_path)

    async def follow() -> list[str]:
        found = []
        async for part in routes._events_of_job(parts, "a", 0):
            found.append(part)
            if len(found) == 3:
                parts.stopping.set()
        return found

    assert asyncio.run(follow())[1:] == [": waiting\n\n"] * 2


def test_streams_that_wait_for_the_same_event_share_one_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(tmp_path)
    asked: list[int] = []
    events = parts.queue.events
    monkeypatch.setattr(parts.queue, "events", lambda job_id, after: asked.append(after) or events(job_id, after))

    async def follow() -> str:
        return "".join([part async for part in routes._events_of_job(parts, "a", 0)])

    async def all_of_them() -> list[str]:
        streams = [asyncio.create_task(follow()) for _ in range(50)]
        await asyncio.sleep(0.1)
        await asyncio.to_thread(parts.queue.cancel, "a")
        return await asyncio.gather(*streams)

    assert len(set(asyncio.run(all_of_them()))) == 1
    assert len(asked) < 120, "fifty streams and three changes"


@pytest.mark.slow(6)
def test_many_streams_need_no_threads(start_service: StartService) -> None:
    service = start_service()
    assert service.process is not None
    status = Path(f"/proc/{service.process.pid}/status")

    def threads() -> int:
        return int(next(line for line in status.read_text().splitlines() if line.startswith("Threads:")).split()[1])

    with service.client() as client:
        run = client.submit_run(yaml=LONG)
        until_running(client, run.run_id)
    most = 0

    async def follow(http: httpx.AsyncClient, opened: asyncio.Semaphore) -> str:
        async with http.stream("GET", f"/runs/{run.run_id}/events") as answer:
            opened.release()
            return "".join([text async for text in answer.aiter_text()])

    async def follow_all() -> list[str]:
        nonlocal most
        limits = httpx.Limits(max_connections=None)
        headers = {"Authorization": f"Bearer {KEY}"}
        async with httpx.AsyncClient(base_url=service.url, headers=headers, limits=limits, timeout=300) as http:
            opened = asyncio.Semaphore(0)
            streams = [asyncio.create_task(follow(http, opened)) for _ in range(STREAMS)]
            for _ in range(STREAMS):
                await opened.acquire()
            most = threads()
            assert (await http.delete(f"/runs/{run.run_id}")).status_code == 202
            return await asyncio.gather(*streams)

    texts = asyncio.run(follow_all())
    assert len(texts) == STREAMS
    assert all(text.rstrip().splitlines()[-2] == "event: cancelled" for text in texts)
    assert most < 100
