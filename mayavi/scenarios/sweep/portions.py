"""Divide the tasks of a sweep into portions that are run and stored together.

Stored alone, each run would need several files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mayavi.scenarios.sweep.plan import Task

PORTION_S = 2.0
"""Target seconds of a portion: the most work a killed process loses, and the time between progress reports."""
MOST_TASKS = 64
"""Most tasks of a portion."""


class Portions(Iterator[list[Task]]):
    """Portions of `tasks` for `jobs` processes: first single tasks, then as many as take two seconds."""

    def __init__(self, tasks: Sequence[Task], jobs: int) -> None:
        self._tasks, self._jobs, self._next, self._size = tasks, jobs, 0, 1

    def __next__(self) -> list[Task]:
        start = self._next
        fair = -(-(len(self._tasks) - start) // self._jobs)  # all processes end at about the same time
        self._next = start + max(1, min(self._size, fair))
        if start >= len(self._tasks):
            raise StopIteration
        return list(self._tasks[start : self._next])

    def took(self, tasks: int, seconds: float) -> None:
        """Set the size of later portions from the time that `tasks` runs took, so that each takes about `PORTION_S`."""
        self._size = max(1, min(MOST_TASKS, int(PORTION_S * tasks / max(seconds, 1e-6))))
