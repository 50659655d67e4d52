"""Specialised execution: choose the mode (`off`, `on`, `check`) and collect replay statistics.

    with specialised("check") as done:
        env = make_rows("aave", 64)
        ...
    done.statistics()["share"]

Precedence: argument, scenario, environment variable `MAYAVI_SPECIALISE`, `on`. Results do not depend on the mode.
"""

from __future__ import annotations

import os
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from mayavi.errors import UsageError

MODES = ("off", "on", "check")
SPECIALISE = "MAYAVI_SPECIALISE"
"""Environment variable with the default mode: off, on or check."""
SWITCHES = ("MAYAVI_JIT", "MAYAVI_WHOLE_PROGRAMS", "MAYAVI_SELF_CHECK")
"""Environment variables of the kernel that switch a part of it off by 0; on by default."""

WITHOUT_CALLS = "it makes no call"
"""Reason that the kernel gives for programs without calls: nothing to replay, and nothing to report."""
MOST_GUARDS = 20
"""Most guards whose misses are listed."""
COUNTS = (
    *("calls", "hits", "native", "left", "checks"),
    *("recordings", "cached", "paths", "compiled", "discarded", "resets", "mismatches"),
)
"""Counts of a call site that are summed."""
SECONDS = {"record_seconds": "seconds", "compile_seconds": "compile_seconds"}
"""Sums of seconds, and the names that a call site has for them."""


_NOTHING: dict[str, Any] = {**dict.fromkeys((*COUNTS, *SECONDS.values()), 0), "misses": {}}
"""Counts of an unused call site."""


class Replaying(Protocol):
    """Protocol of kernel objects that count their replayed calls: fleets and EVMs."""

    def statistics(self) -> list[dict[str, Any]]:
        """Counts of each call site."""


class Specialised:
    """Mode and replay statistics of the code inside one `specialised` context."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        """Mode of specialised execution: off, on or check."""
        self._at_work: dict[int, tuple[Replaying, dict[Hashable, dict[str, Any]]]] = {}
        self._sites: list[dict[str, Any]] = []

    def watch(self, owner: object, kernel: Replaying) -> None:
        """Count replays of `kernel` from now on; the final counts are taken when `owner` is garbage-collected."""
        self._at_work[id(kernel)] = kernel, {_place(site): site for site in _counts(kernel)}
        weakref.finalize(owner, self._ended, kernel)

    def _ended(self, kernel: Replaying) -> None:
        if (at_work := self._at_work.pop(id(kernel), None)) is not None:
            self._sites += _since(*at_work)

    def stop(self) -> None:
        """Stop counting and drop all counts."""
        self._at_work.clear()
        self._sites.clear()

    def add(self, sites: Iterable[dict[str, Any]]) -> None:
        """Add call sites that were counted in another process."""
        self._sites += sites

    def sites(self) -> list[dict[str, Any]]:
        """Counts of all call sites so far."""
        return [*self._sites, *(site for each in list(self._at_work.values()) for site in _since(*each))]

    def statistics(self) -> dict[str, Any]:
        """Sums over all call sites, as JSON data."""
        return summary(self.mode, self.sites())


_current: ContextVar[Specialised | None] = ContextVar("specialised", default=None)


@contextmanager
def specialised(mode: str | None = None) -> Iterator[Specialised]:
    """Context that sets the default mode of everything inside, and collects its replay statistics."""
    found = Specialised(chosen_specialise(mode))
    token = _current.set(found)
    try:
        yield found
    finally:
        _current.reset(token)


def current() -> Specialised | None:
    """The innermost active `specialised` context; None without one."""
    return _current.get()


def chosen_specialise(mode: str | None = None) -> str:
    """Return `mode`, else that of the active context, else `MAYAVI_SPECIALISE`, else `on`.

    Raises `UsageError` for an unknown mode, and for a switch that is neither 0 nor 1.
    """
    for name in SWITCHES:
        if (value := os.environ.get(name, "").strip()) not in {"", "0", "1"}:
            raise UsageError(f"{name} is '{value}'", "it is 0 (off) or 1 (on, the default)")
    if mode is None and (around := _current.get()) is not None:
        return around.mode
    found = mode if mode is not None else os.environ.get(SPECIALISE, "").strip() or "on"
    if found not in MODES:
        origin = SPECIALISE if mode is None else "specialise"
        raise UsageError(f"{origin} is '{found}'", f"it is one of: {', '.join(MODES)}")
    return found


def _counts(kernel: Replaying) -> list[dict[str, Any]]:
    """Counts of each call site and of each program; of a fork, one sum over all call sites.

    A row that a program replays or records as a whole counts as one call. The calls of other rows count one by one.
    """
    if (total := getattr(kernel, "total_statistics", None)) is not None:
        return [total()]  # a fork has no programs, and runs ask for its counts often
    programs: Callable[[], list[dict[str, Any]]] = getattr(kernel, "program_statistics", list)
    with_calls = (each for each in programs() if each["off"] != WITHOUT_CALLS)
    return [*kernel.statistics(), *(each | {"calls": each["hits"] + each["recordings"]} for each in with_calls)]


def _place(site: Mapping[str, Any]) -> Hashable:
    return tuple(site.get(name) for name in ("to", "sender", "selector", "program"))


def _since(kernel: Replaying, before: Mapping[Hashable, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Counts of a kernel since `before`."""
    found = []
    for site in _counts(kernel):
        earlier = before.get(_place(site), {})
        if site == earlier:
            found.append(site | _NOTHING | {"off_sites": [(*each[:2], 0) for each in site.get("off_sites", ())]})
            continue
        counts = {name: site[name] - earlier.get(name, 0) for name in (*COUNTS, *SECONDS.values()) if name in site}
        old = earlier.get("misses", {})
        misses = {guard: count - old.get(guard, 0) for guard, count in site.get("misses", {}).items()}
        before_off = {each[:2]: each[2] for each in earlier.get("off_sites", ())}
        off = [(*each[:2], each[2] - before_off.get(each[:2], 0)) for each in site.get("off_sites", ())]
        changed = {guard: count for guard, count in misses.items() if count}
        found.append(site | counts | {"misses": changed, "off_sites": off})
    return found


def summary(mode: str, sites: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum the counts of call sites: `share` is the part of the calls that was replayed, None without calls."""
    found = list(sites)
    totals = {name: sum(int(site.get(name, 0)) for site in found) for name in COUNTS}
    spent = {name: round(sum(float(site.get(key, 0.0)) for site in found), 6) for name, key in SECONDS.items()}
    misses: Counter[str] = Counter()
    for site in found:
        misses.update(site.get("misses", {}))
    off = [
        {
            "call": f"{site.get('to', 'program')}.{site.get('selector', site.get('program'))}",
            "calls": int(site.get("calls", 0)),
            "reason": site["off"],
        }
        for site in found
        if site.get("off")
    ]
    for site in found:
        off += [{"call": call, "calls": calls, "reason": why} for call, why, calls in site.get("off_sites", ())]
    number = sum(int(site.get("sites", 1)) for site in found)
    return _with_share({"mode": mode, "sites": number, **totals, **spent}, misses, off)


def merged(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum the statistics of several runs; empty ones, of runs stored before statistics existed, add nothing."""
    found = [part for part in parts if part]
    if not found:
        return {}
    modes = dict.fromkeys(str(part["mode"]) for part in found)
    numbers = ("sites", *COUNTS, *SECONDS)
    misses: Counter[str] = Counter()
    for part in found:
        misses.update(part.get("misses", {}))
    off: dict[tuple[str, str], int] = {}
    for each in (each for part in found for each in part.get("off", ())):
        key = each["call"], each["reason"]
        off[key] = off.get(key, 0) + each["calls"]
    named = [{"call": call, "calls": calls, "reason": reason} for (call, reason), calls in off.items()]
    totals = {name: sum(part.get(name, 0) for part in found) for name in numbers}
    return _with_share({"mode": ", ".join(modes), **totals}, misses, named)


def _with_share(counts: dict[str, Any], misses: Counter[str], off: list[dict[str, Any]]) -> dict[str, Any]:
    listed = sorted(misses.items(), key=lambda each: (-each[1], each[0]))[:MOST_GUARDS]
    share = counts["hits"] / counts["calls"] if counts["calls"] else None
    return counts | {"share": share, "missed": misses.total(), "misses": dict(listed), "off": off}
