"""Parameters of a scenario that differ from its defaults, and the commands that repeat its runs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from mayavi.errors import MayaviError
from mayavi.scenarios.loading import load_scenario

_LONGEST = 120
"""Characters of a value that pages and commands show."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter with its default; `default` is None if the scenario's own file does not set it."""

    path: str
    value: str
    default: str | None


def changed_parameters(text: str, scenario: str, chain: str) -> list[Parameter] | None:
    """Return the parameters of a scenario text that differ from the scenario `scenario` of the library.

    None if the library has no such scenario, so that nothing is known about its defaults.
    """
    defaults = _library(scenario, chain)
    if defaults is None:
        return None
    own = flat(text)
    return [
        Parameter(path, written(value), written(defaults[path]) if path in defaults else None)
        for path, value in own.items()
        if path not in defaults or defaults[path] != value
    ]


def differing(texts: Sequence[str]) -> dict[str, list[str | None]]:
    """Return the parameters in which scenario texts differ: one value for each text, None where it has none."""
    parts = [flat(text) for text in texts]
    paths = dict.fromkeys(path for part in parts for path in part)
    found = {path: [part.get(path) for part in parts] for path in paths}
    return {
        path: [None if value is None else written(value) for value in values]
        for path, values in found.items()
        if any(value != values[0] for value in values)
    }


def flat(text: str) -> dict[str, Any]:
    """Return the leaves of a scenario by their dotted path; lists count as leaves."""
    found: dict[str, Any] = {}

    def walk(value: Any, path: str) -> None:
        if isinstance(value, dict) and value:
            for key, each in value.items():
                walk(each, f"{path}.{key}" if path else str(key))
        else:
            found[path] = value

    walk(yaml.safe_load(text) or {}, "")
    return found


def written(value: Any) -> str:
    """Write a value as `--set` takes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def run_command(scenario: str, chain: str, text: str, seed: int, without: Iterable[str] = ()) -> str:
    """Return the `mayavi run` line that repeats a run; paths of `without` are left out."""
    return shlex.join(["mayavi", "run", *_arguments(scenario, chain, text, without), "--seed", str(seed)])


def sweep_command(scenario: str, chain: str, text: str, seeds: Sequence[int], axes: dict[str, tuple[str, ...]]) -> str:
    """Return the `mayavi sweep` line that repeats a sweep."""
    parts = ["mayavi", "sweep", *_arguments(scenario, chain, text, axes), "--seeds", seeds_text(seeds)]
    for path, values in axes.items():
        parts += ["--grid", f"{path}={','.join(values)}"]
    return shlex.join(parts)


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


def _arguments(scenario: str, chain: str, text: str, without: Iterable[str]) -> list[str]:
    """Scenario and options; a scenario that the library does not have is named by its file."""
    found = changed_parameters(text, scenario, chain)
    if found is None:
        return [f"{scenario}.yaml"]
    skipped = {*without, "chain", "chains", "title"}
    known = _library_chain(scenario)
    options = [] if chain == known else ["--chain", chain]
    for each in found:
        if each.path in skipped:
            continue
        if each.path == "steps":
            options += ["--steps", each.value]
        elif len(each.value) <= _LONGEST:
            options += ["--set", f"{each.path}={each.value}"]
    return [scenario, *options]


@cache
def _library(scenario: str, chain: str) -> dict[str, Any] | None:
    try:
        return flat(load_scenario(scenario, chain=chain or None).text)
    except (MayaviError, OSError):
        return None


@cache
def _library_chain(scenario: str) -> str:
    try:
        return load_scenario(scenario).config.chain
    except (MayaviError, OSError):
        return ""
