"""Follow a job by its server-sent events, across broken connections and restarts of the server."""

from __future__ import annotations

import time
from collections.abc import Iterator

from mayavi.api.models.jobs import Event
from mayavi.client.transport import RESTARTING, Retry, Transport
from mayavi.errors import ServiceError, ServiceUnreachable

_LASTING_S = 5.0
FINAL = frozenset({"finished", "failed", "cancelled"})


def follow(transport: Transport, path: str) -> Iterator[Event]:
    """Yield the events at `path` up to the final one, each once.

    A broken connection is opened again after the last event; `ServiceUnreachable` if that fails for `patience_s`.
    """
    last = 0
    retry = Retry(transport.patience_s)
    while True:
        opened = time.monotonic()
        try:
            headers = {"Last-Event-ID": str(last)} if last else {}
            with transport.stream(path, headers) as answer:
                for event in parse_events(answer.iter_lines()):
                    retry = Retry(transport.patience_s)
                    if event.id <= last:
                        continue
                    last = event.id
                    yield event
                    if event.kind in FINAL:
                        return
            problem: ServiceError = ServiceUnreachable(f"{transport.url} ended the events of a job that runs")
        except ServiceUnreachable as error:
            problem = error
        except ServiceError as error:
            if error.status not in RESTARTING and error.status != 429:
                raise
            problem = error
        if time.monotonic() - opened > _LASTING_S:  # it worked, and was silent for long
            retry = Retry(transport.patience_s)
        retry.wait(problem)


def parse_events(lines: Iterator[str]) -> Iterator[Event]:
    """Parse the lines of an event stream; comments, such as heartbeats, are left out."""
    data: list[str] = []
    for line in lines:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield Event.model_validate_json("\n".join(data))
            data = []
