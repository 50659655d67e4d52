"""Contexts that time parts of a step: `Timed`, and `Observing` for parts that may only read the chain."""

from __future__ import annotations

from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING

from mayavi.errors import ObservationChanged

if TYPE_CHECKING:
    from mayavi.sim.world_state import WorldState


class Timed:
    """Context that adds its time outside the kernel to `seconds[what]`."""

    __slots__ = ("_kernel", "_seconds", "_started", "_what", "_world")

    def __init__(self, world: WorldState, seconds: dict[str, float], what: str) -> None:
        self._world, self._seconds, self._what = world, seconds, what

    def __enter__(self) -> None:
        self._kernel, self._started = self._world.fork.kernel_seconds, perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        kernel = self._world.fork.kernel_seconds - self._kernel
        self._seconds[self._what] += perf_counter() - self._started - kernel


class Observing(Timed):
    """Context that is timed, shares reads, and may not write to the chain."""

    __slots__ = ("_before", "_sharing")

    def __enter__(self) -> None:
        super().__enter__()
        self._sharing = self._world.observing()
        self._sharing.__enter__()
        self._before = self._world.fork.marker

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        changed = kind is None and self._world.fork.marker != self._before
        self._sharing.__exit__(kind, error, trace)
        super().__exit__(kind, error, trace)
        if changed:
            raise ObservationChanged("a hook changed the chain", "hooks only read; let an agent act")
