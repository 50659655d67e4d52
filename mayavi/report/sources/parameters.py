"""Parameters in which scenarios differ, and the command that repeats a sweep."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from mayavi.report.run.parameters import command_of, differences, flattened
from mayavi.sim.store import RunRecord


def differing(texts: Sequence[str]) -> dict[str, list[str | None]]:
    """Return the parameters in which scenario texts differ: one value for each text, None where it has none."""
    parts = [flattened(yaml.safe_load(text) or {}) for text in texts]
    if any(part.get("world") for part in parts):  # beside a market the chain's own world has the chain's name
        parts = [{**part, "world": part.get("world") or part.get("chain")} for part in parts]
    paths = dict.fromkeys(path for part in parts for path in part)
    found: dict[str, list[Any]] = {path: [part.get(path) for part in parts] for path in paths}
    return {
        path: [None if value is None else written(value) for value in values]
        for path, values in found.items()
        if any(value != values[0] for value in values)
    }


def written(value: Any) -> str:
    """Write a value as `--set` takes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def sweep_command(record: RunRecord, seeds: Sequence[int], axes: Mapping[str, Sequence[str]], verb: str) -> str:
    """Return the `mayavi sweep` or `mayavi sensitivity` line that repeats the runs; `record` is one of them."""
    known = differences(record)
    kept = None if known is None else [each for each in known if each[0] not in axes]
    command, _ = command_of(record, kept)
    command = command.replace("mayavi run ", f"mayavi {verb} ", 1).replace(f"--seed {record.seed}", "", 1)
    parts = [" ".join(command.split()), "--seeds", seeds_text(seeds)]
    for path, values in axes.items():
        parts += ["--grid", shlex.quote(f"{path}={','.join(values)}")]
    return " ".join(parts)


def seeds_text(seeds: Sequence[int]) -> str:
    """Write seeds as `--seeds` takes them: `0:100`, `1,2,5`."""
    parts: list[str] = []
    first = last = None
    for seed in sorted(seeds):
        if first is not None and last is not None and seed == last + 1:
            last = seed
            continue
        if first is not None and last is not None:
            parts.append(_range(first, last))
        first = last = seed
    if first is not None and last is not None:
        parts.append(_range(first, last))
    return ",".join(parts)


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}:{last + 1}"
