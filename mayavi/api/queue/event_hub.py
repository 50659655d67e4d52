"""`EventHub`: wake the event streams of a job when the job changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mayavi.api.queue.jobs import JobQueue

_MOST_CACHED = 1000


class EventHub:
    """One watcher of the queue for all event streams of the process. Streams are coroutines, none has a thread.

    Streams that wait for the same events share one query and one text.
    """

    def __init__(self, queue: JobQueue) -> None:
        self.queue = queue
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._texts: dict[tuple[str, int], tuple[int, bool, str]] = {}
        self._end: Callable[[], None] | None = None

    def read(self, job_id: str, after: int) -> tuple[int, bool, str]:
        """Return the events after the one numbered `after` as text, the last number, and whether the last is final."""
        key = job_id, after
        if key not in self._texts:
            events = self.queue.events(job_id, after)
            text = "".join(f"id: {each.id}\nevent: {each.kind}\ndata: {each.model_dump_json()}\n\n" for each in events)
            last = events[-1].id if events else after
            final = bool(events) and events[-1].kind in {"finished", "failed", "cancelled"}
            if len(self._texts) >= _MOST_CACHED:
                self._texts.clear()
            self._texts[key] = last, final, text
        return self._texts[key]

    def watch(self, job_id: str) -> asyncio.Event:
        """Return an event that is set at each change of the job; give it back to `unwatch`."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop = loop
            if self._end is not None:
                self._end()
            self._end = self.queue.subscribe(self._changed)
        changed = asyncio.Event()
        self._waiting.setdefault(job_id, set()).add(changed)
        self._texts = {key: text for key, text in self._texts.items() if key[0] != job_id}
        return changed

    def unwatch(self, job_id: str, changed: asyncio.Event) -> None:
        """Forget a stream that has ended."""
        left = self._waiting.get(job_id, set())
        left.discard(changed)
        if not left:
            self._waiting.pop(job_id, None)
            self._texts = {key: text for key, text in self._texts.items() if key[0] != job_id}

    @property
    def streams(self) -> int:
        """Number of open streams."""
        return sum(map(len, self._waiting.values()))

    def _changed(self, job_id: str) -> None:
        """Pass a change on to the event loop, from the thread that made it."""
        loop = self._loop
        if loop is not None and job_id in self._waiting and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake, job_id)

    def _wake(self, job_id: str) -> None:
        self._texts = {key: text for key, text in self._texts.items() if key[0] != job_id}
        for changed in self._waiting.get(job_id, ()):
            changed.set()
