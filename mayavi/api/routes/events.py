"""Follow runs and sweeps by server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from mayavi.api.errors import ApiError, documented
from mayavi.api.models.jobs import Event
from mayavi.api.queue.job import Kind
from mayavi.api.security.caller import Caller, Reader
from mayavi.api.service import Parts, Service
from mayavi.sim.store.database.schema import literal

router = APIRouter()
LastEventId = Annotated[str | None, Header(alias="Last-Event-ID", max_length=20)]
HEARTBEAT_S = 15.0
_TICK_S = 1.0
_POLL_S = 2.0
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "Events: `id`, `event`, and `data` as JSON of `Event`."}
}
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@router.get(
    "/runs/{run_id}/events",
    response_class=StreamingResponse,
    responses={**_STREAM, **documented(401, 404, 422)},
    tags=["runs"],
)
async def run_events(run_id: str, caller: Reader, parts: Parts, last_event_id: LastEventId = None) -> StreamingResponse:
    """Send progress as server-sent events, from the one after `Last-Event-ID`; ends when the run has ended."""
    return await _stream(parts, caller, "run", run_id, last_event_id)


@router.get(
    "/sweeps/{sweep_id}/events",
    response_class=StreamingResponse,
    responses={**_STREAM, **documented(401, 404, 422)},
    tags=["sweeps"],
)
async def sweep_events(
    sweep_id: str, caller: Reader, parts: Parts, last_event_id: LastEventId = None
) -> StreamingResponse:
    """Send progress as server-sent events, in runs; ends when the sweep has ended."""
    return await _stream(parts, caller, "sweep", sweep_id, last_event_id)


async def _stream(
    parts: Service, caller: Caller, kind: Kind, job_id: str, last_event_id: str | None
) -> StreamingResponse:
    after = int(last_event_id) if last_event_id and last_event_id.isascii() and last_event_id.isdigit() else 0
    job = parts.queue.job(job_id)
    if job is not None and job.kind == kind:
        source = _events_of_job(parts, job_id, after)
    elif (await run_in_threadpool(stored_event, parts, kind, job_id)) is not None:
        source = _events_of_store(parts, kind, job_id)
    else:
        raise ApiError(404, f"unknown {kind} '{job_id}'", f"`GET /{kind}s` lists them")
    source = parts.authenticator.while_valid(caller, source)
    return StreamingResponse(source, media_type="text/event-stream", headers=_HEADERS)


async def _events_of_job(parts: Service, job_id: str, after: int) -> AsyncGenerator[str]:
    hub = parts.events
    changed = hub.watch(job_id)
    silent, begun = 0.0, False
    try:
        while not parts.stopping.is_set():
            changed.clear()
            last, final, text = hub.read(job_id, after)
            if text:
                yield text
                after, silent = last, 0.0
            if final or (not begun and not text and _has_ended(parts, job_id)):
                return
            begun = True
            if text:
                continue
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), _TICK_S)
                continue
            silent += _TICK_S
            if silent >= HEARTBEAT_S:
                silent = 0.0
                yield ": waiting\n\n"
    finally:
        hub.unwatch(job_id, changed)


def _has_ended(parts: Service, job_id: str) -> bool:
    """Whether a job has ended, for a client that has its last event already."""
    job = parts.queue.job(job_id)
    return job is None or job.ended_at is not None


async def _events_of_store(parts: Service, kind: Kind, job_id: str) -> AsyncGenerator[str]:
    """Send the end of a run or sweep that was not submitted here; one that still runs is looked at now and then."""
    silent, begun = 0.0, False
    while not parts.stopping.is_set():
        event = await run_in_threadpool(stored_event, parts, kind, job_id)
        if event is None:
            return
        if event.kind != "started" or not begun:
            yield f"id: {event.id}\nevent: {event.kind}\ndata: {event.model_dump_json()}\n\n"
            begun = True
        if event.kind != "started":
            return
        await asyncio.sleep(_POLL_S)
        silent += _POLL_S
        if silent >= HEARTBEAT_S:
            silent = 0.0
            yield ": waiting\n\n"


def stored_event(parts: Service, kind: Kind, job_id: str) -> Event | None:
    """Return the state of a stored run or sweep as an event; None if the store does not have it."""
    error = "error" if kind == "run" else "'' AS error"
    query = f"SELECT status, {error} FROM {kind}s WHERE {kind}_id = {literal(job_id)}"
    rows = parts.store.sql(query).fetchall()
    if not rows:
        return None
    status, message = str(rows[0][0]), str(rows[0][1] or "")
    if status == "running":
        return Event(id=1, at=datetime.now(UTC), kind="started")
    return Event(
        id=2, at=datetime.now(UTC), kind="finished" if status == "finished" else "failed", message=message or status
    )
