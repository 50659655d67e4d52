"""How many questions a server answers at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class CountedAnswers:
    """A server's answers, and the largest number of them that were prepared at the same time."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.most = 0
        self._running = 0
        self._answer = answer
        self._lock = threading.Lock()

    def __call__(self, question: Any) -> Any:
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
        try:
            return self._answer(question)
        finally:
            with self._lock:
                self._running -= 1
