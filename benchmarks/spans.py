"""Where time goes inside one another: each span counts what is spent in it and in no span within."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class Spans:
    """Seconds by name. `watch(thing, method, name)` counts every call of a method of one object from then on."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open: list[float] = []
        """What the spans within have taken, for each span under way."""

    def around(self, name: str, work: F) -> F:
        """`work`, and its seconds to be counted."""
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
        """Count the calls of a method of one object."""
        setattr(thing, method, self.around(name, getattr(thing, method)))

    def clear(self) -> None:
        """Begin anew."""
        for name in self.seconds:
            self.seconds[name] = 0.0


class KernelWatch:
    """A kernel object, which takes no attributes, with the seconds of its methods counted."""

    def __init__(self, kernel: Any, spans: Spans, methods: tuple[str, ...], name: str) -> None:
        self._kernel = kernel
        for method in methods:
            setattr(self, method, spans.around(name, getattr(kernel, method)))

    def __len__(self) -> int:
        return len(self._kernel)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


def watch_rows(spans: Spans, env: Any) -> None:
    """The parts of a `RowsEnv`: the kernel by itself, what packs its inputs, and the environment's own code."""
    if hasattr(env, "fleet"):  # a free environment has none
        env.fleet._fleet = KernelWatch(env.fleet._fleet, spans, ("run", "reset", "copy_row"), "kernel")
        spans.watch(env.fleet, "run", "fleet.run")
    for method in ("apply", "observe", "rewards", "begin"):
        spans.watch(env, method, method)
