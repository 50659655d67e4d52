"""`AnswerCache`: the latest answers in memory, each until what it shows has changed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sized
from typing import Generic, TypeVar

Kept = TypeVar("Kept", bound=Sized)


class AnswerCache(Generic[Kept]):
    """Answers by name and version; the least recently used go first when `most_bytes` are reached."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[object, Kept]] = OrderedDict()
        self._bytes = 0

    def get(self, name: Hashable, version: object = None) -> Kept | None:
        """Return the answer of `name` if it was kept with the same `version`."""
        found = self._kept.get(name)
        if found is None or found[0] != version:
            return None
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
        return found[1]

    def keep(self, name: Hashable, version: object, answer: Kept) -> None:
        """Keep an answer, in place of an earlier version."""
        if len(answer) > self._most_bytes // 4:
            return
        with self._lock:
            before = self._kept.pop(name, None)
            self._bytes += len(answer) - (0 if before is None else len(before[1]))
            self._kept[name] = (version, answer)
            while self._bytes > self._most_bytes:
                _, (_, gone) = self._kept.popitem(last=False)
                self._bytes -= len(gone)
