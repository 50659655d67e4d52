"""`SharedWork`: callers who want the same thing at the same time share one computation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedWork(Generic[T]):
    """Running computations by name. One continues even if its caller leaves."""

    def __init__(self) -> None:
        self._tasks: dict[Hashable, asyncio.Task[T]] = {}

    def under_way(self, name: Hashable) -> asyncio.Task[T] | None:
        """Return the running work with this name; None without one."""
        return self._tasks.get(name)

    async def do(self, name: Hashable, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of the work with this name; start it unless it is running."""
        return await asyncio.shield(self.begin(name, work))

    def begin(self, name: Hashable, work: Callable[[], Awaitable[T]]) -> asyncio.Task[T]:
        """Start the work in the background unless work of this name is running."""
        task = self._tasks.get(name)
        if task is None:

            async def do() -> T:
                return await work()

            task = self._tasks[name] = asyncio.get_running_loop().create_task(do())
            task.add_done_callback(lambda done: self._ended(name, done))
        return task

    def _ended(self, name: Hashable, task: asyncio.Task[T]) -> None:
        del self._tasks[name]
        if not task.cancelled():
            task.exception()  # retrieve the exception: perhaps no caller is left to do so
