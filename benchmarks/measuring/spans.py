"""Nested timing spans: each counts the time spent in it but in no inner span."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class Spans:
    """Seconds by name. `watch(thing, method, name)` times every later call of a method of one object."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open: list[float] = []
        """Seconds of inner spans, per open span."""

    def reset(self) -> None:
        """Start all spans from zero."""
        self.seconds.update(dict.fromkeys(self.seconds, 0.0))

    def around(self, name: str, work: F) -> F:
        """Wrap `work` so that its seconds are counted."""
        seconds, under_way = self.seconds, self._open
        seconds.setdefault(name, 0.0)

        def timed(*args: Any, **options: Any) -> Any:
            under_way.append(0.0)
            began = time.perf_counter()
            try:
                return work(*args, **options)
            finally:
                whole = time.perf_counter() - began
                seconds[name] += whole - under_way.pop()
                if under_way:
                    under_way[-1] += whole

        return timed  # type: ignore[return-value]

    def watch(self, thing: Any, method: str, name: str) -> None:
        """Time the calls of a method of one object."""
        setattr(thing, method, self.around(name, getattr(thing, method)))

    def clear(self) -> None:
        """Reset all counters."""
        for name in self.seconds:
            self.seconds[name] = 0.0


class KernelWatch:
    """Wrapper of a kernel object, which takes no attributes, that times its methods."""

    def __init__(self, kernel: Any, spans: Spans, methods: tuple[str, ...], name: str) -> None:
        self._kernel = kernel
        for method in methods:
            setattr(self, method, spans.around(name, getattr(kernel, method)))

    def __len__(self) -> int:
        return len(self._kernel)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


def watch_rows(spans: Spans, env: Any) -> None:
    """Time the parts of a `RowsEnv`: kernel, input packing, and environment code."""
    if hasattr(env, "fleet"):  # a free environment has none
        env.fleet._fleet = KernelWatch(env.fleet._fleet, spans, ("run", "reset", "copy_row"), "kernel")
        spans.watch(env.fleet, "run", "fleet.run")
    for method in ("apply", "observe", "rewards", "begin"):
        spans.watch(env, method, method)
