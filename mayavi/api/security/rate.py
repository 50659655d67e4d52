"""Token buckets: requests of a key, failed attempts of an address."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

_MOST_BUCKETS = 10_000


class Taken(NamedTuple):
    """Whether a request may pass, how many more may, and after how many seconds the next one may if not."""

    allowed: bool
    limit: int
    remaining: int
    retry_after_s: int


class RateLimiter:
    """One bucket for each name: full at first, refilled evenly. Rarely used buckets are forgotten first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, per_minute: int, tokens: float = 1.0) -> Taken:
        """Take `tokens` of the bucket `name`, which holds `per_minute` and is refilled in a minute."""
        with self._lock:
            now = self._clock()
            level, at = self._buckets.pop(name, (float(per_minute), now))
            level = min(float(per_minute), level + (now - at) * per_minute / 60)
            allowed = level >= max(tokens, 1.0)
            if allowed:
                level -= tokens
            self._buckets[name] = (level, now)
            if len(self._buckets) > _MOST_BUCKETS:
                self._buckets.popitem(last=False)
        wait = 0 if allowed else max(1, math.ceil((1 - level) * 60 / per_minute))
        return Taken(allowed, per_minute, int(level), wait)

    def look(self, name: str, per_minute: int) -> Taken:
        """Return whether the bucket `name` has a token, without taking one."""
        return self.take(name, per_minute, 0.0)
