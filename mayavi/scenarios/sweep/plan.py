"""Plan of a sweep: one task for every seed at every point of the grid.

The key of a task is a digest of its scenario's text and its seed. The id of a sweep is a digest of all its tasks, the
world they start from and the version of the code. So the same command names the same sweep, and continues it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from mayavi.errors import UsageError

SEED_LIMIT = 1 << 63
TASK_LIMIT = 1_000_000

_OPENING, _CLOSING = "[{(", "]})"


@dataclass(frozen=True, slots=True)
class Task:
    """One run of a sweep."""

    key: str
    """Digest of its scenario's text and its seed."""
    point: int
    """Index of its point of the grid."""
    seed: int


@dataclass(frozen=True, slots=True)
class Plan:
    """All runs of a sweep, in order."""

    sweep_id: str
    points: tuple[tuple[str, ...], ...]
    """Overrides of each point of the grid: `("shock.size=-30%",)`; one empty point without a grid."""
    seeds: tuple[int, ...]
    tasks: tuple[Task, ...]

    def open_tasks(self, done: Iterable[str]) -> list[Task]:
        """Return the tasks whose keys are not in `done`."""
        finished = set(done)
        return [task for task in self.tasks if task.key not in finished]


def make_plan(
    texts: Sequence[str],
    points: Sequence[tuple[str, ...]],
    seeds: Sequence[int],
    world: Mapping[str, object],
    *,
    start: Sequence[int] | None = None,
) -> Plan:
    """Plan to run each of `texts` (the scenario at each of `points`) with each of `seeds`.

    `world` holds what else results depend on: the digest of the world, the version of the code. A sweep that grows is
    identified by the seeds it starts with, `start`, instead of all its tasks.
    """
    if len(texts) * len(seeds) > TASK_LIMIT:
        raise UsageError(f"{len(texts) * len(seeds):,} runs are more than a sweep holds", f"at most {TASK_LIMIT:,}")
    tasks = tuple(Task(task_key(text, seed), point, seed) for seed in seeds for point, text in enumerate(texts))
    if len({task.key for task in tasks}) < len(tasks):
        raise UsageError("two points of the grid are the same scenario", "leave out values that mean the same")
    named: list[object] = [dict(world), [task.key for task in tasks]]
    if start is not None:
        named = [dict(world), [task_key(text, seed) for seed in start for text in texts], "grows"]
    identity = json.dumps(named, sort_keys=True)
    return Plan(f"sweep-{_digest(identity)[:16]}", tuple(points), tuple(seeds), tasks)


def task_key(text: str, seed: int) -> str:
    """Return the key of a run: equal for equal scenario text and seed."""
    return _digest(f"{seed}\n{text}")[:32]


def parse_seeds(text: str) -> tuple[int, ...]:
    """Parse seeds: `0:1000` (end excluded), `1,2,5`, or both: `0:10,50`."""
    how = "give 0:1000 (a thousand seeds, 0 to 999), 1,2,5 or both: 0:10,50"
    seeds: list[int] = []
    for part in text.split(","):
        first, colon, end = (each.strip() for each in part.partition(":"))
        if not all(each.isascii() and each.isdigit() for each in ([first, end] if colon else [first])):
            negative = any(each[:1] == "-" and each[1:].isdigit() for each in (first, end))
            why = ": seeds are not negative" if negative else ""
            raise UsageError(f"'{part.strip()}' names no seeds{why}", how)
        start, stop = int(first), int(end) if colon else int(first) + 1
        if start >= stop:
            ends = "where" if start == stop else "before"
            raise UsageError(f"'{part.strip()}' holds no seed: it ends {ends} it begins", how)
        if stop - start > TASK_LIMIT:
            raise UsageError(f"{stop - start:,} seeds are more than a sweep holds", f"at most {TASK_LIMIT:,}")
        seeds += range(start, stop)
    return check_seeds(seeds)


def check_seeds(seeds: Iterable[int]) -> tuple[int, ...]:
    """Return `seeds`; raise `UsageError` for an invalid or repeated one."""
    chosen = tuple(check_seed(seed) for seed in seeds)
    if not chosen:
        raise UsageError("there are no seeds", "a sweep needs one at least")
    seen: set[int] = set()
    for seed in chosen:
        if seed in seen:
            raise UsageError(f"seed {seed} is given twice", "its run would count twice")
        seen.add(seed)
    return chosen


def check_seed(seed: int) -> int:
    """Return `seed`; raise `UsageError` unless it is an integer from 0 to 2⁶³ − 1."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise UsageError(f"{seed!r} is not a valid seed", "a seed is an integer from 0 to 2^63 - 1")
    if not 0 <= seed < SEED_LIMIT:
        raise UsageError(f"seed {seed} is out of range", "a seed is an integer from 0 to 2^63 - 1")
    return seed


def parse_grid(axes: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the overrides of each point of the grid spanned by axes `a.b=1,2,3`; the last axis varies fastest."""
    columns: dict[str, list[str]] = {}
    for axis in axes:
        path, equals, values = axis.partition("=")
        path = path.strip()
        if not equals or not path:
            raise UsageError(
                f"'{axis}' is not a valid axis of a grid", "give a path and its values: --grid shock.size=10%,20%"
            )
        if path in columns:
            raise UsageError(f"'{path}' is given to --grid twice", "give all of its values in one: a.b=1,2,3")
        columns[path] = split_values(values)
        if not all(columns[path]):
            raise UsageError(f"a value of '{axis}' is empty", "separate values by single commas: a.b=1,2,3")
    count = 1
    for each in columns.values():
        count *= len(each)
    if count > TASK_LIMIT:
        raise UsageError(f"a grid of {count:,} points is more than a sweep holds", f"at most {TASK_LIMIT:,}")
    return tuple(
        tuple(f"{path}={value}" for path, value in zip(columns, values, strict=True))
        for values in product(*columns.values())
    )


def split_values(text: str) -> list[str]:
    """Split `text` at commas outside brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        else:
            depth += (letter in _OPENING) - (letter in _CLOSING)
        if letter == "," and not quote and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
