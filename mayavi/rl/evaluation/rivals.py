"""Compare trained policies with other trained policies on the same episodes: `mayavi eval A --against B`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mayavi.errors import UnknownName, UnknownRun, UsageError
from mayavi.gym_env.registry import entry
from mayavi.rl.evaluation.document import parts_of
from mayavi.rl.evaluation.strategies import check_strategies, known_strategies

if TYPE_CHECKING:
    from mayavi.rl.models import Model

RIVAL = "rival"
"""Name of the policy to compare with; of several: `rival1`, `rival2`, …"""


@dataclass(frozen=True, slots=True)
class Sides:
    """Who is compared with whom."""

    models: list[Model] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    """Baselines in place of models."""
    baselines: list[str] | None = None
    """Baselines to compare with; None for all."""
    rivals: list[Model] = field(default_factory=list)
    """Trained policies to compare with."""


def find_sides(named: Sequence[str], against: Sequence[str] | None, models: Path | None) -> Sides:
    """Find the runs and baselines that `mayavi eval NAMED… --against AGAINST` names.

    A name in `against` is a baseline of the environment if it has one of that name, otherwise a training run or
    checkpoint. A baseline may stand in place of the run, if `against` names one. Raises `UnknownName` if a name is
    neither, `AmbiguousName` if it fits several runs.
    """
    from mayavi.rl.models import open_model

    asked = list(dict.fromkeys(against)) if against is not None else None
    try:
        found = [open_model(each, models) for each in named]
    except UnknownRun:
        rivals = _first_rival(asked or [], models)
        if len(named) > 1 or rivals is None or named[0] not in _scripts(rivals.env_name):
            raise
        baselines, runs = _split(asked or [], rivals.env_name, models)
        if named[0] in baselines:
            raise UsageError(f"'{named[0]}' is compared with itself", "name another one after --against") from None
        return Sides([], [named[0]], baselines, runs)
    if asked is None:
        return Sides(found)
    baselines, runs = _split(asked, found[0].env_name, models)
    return Sides(found, [], baselines, runs)


def rival_names(count: int) -> list[str]:
    """Names of `count` policies to compare with."""
    return [RIVAL] if count == 1 else [f"{RIVAL}{number}" for number in range(1, count + 1)]


def add_rivals(document: Mapping[str, Any], rivals: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Add the facts of the policies compared with, and to every comparison the episodes won and lost."""
    found: dict[str, Any] = {}
    for key, value in document.items():
        found[key] = value
        if key == "models":
            found["rivals"] = [dict(each) for each in rivals]
    for part in parts_of(found).values():
        for each in part["comparisons"]:
            each |= _wins(part, each["strategy"], each["against"])
    return found


def _wins(part: Mapping[str, Any], one: str, other: str) -> dict[str, int]:
    """Episodes in which `one` earned more and less than `other`."""
    difference = np.array(part[one]["rewards"]) - np.array(part[other]["rewards"])
    return {"wins": int((difference > 0).sum()), "losses": int((difference < 0).sum())}


def _split(names: Sequence[str], env: str, models: Path | None) -> tuple[list[str], list[Model]]:
    """Baselines of `env` and runs among `names`."""
    from mayavi.rl.models import open_model

    known, baselines, runs = _scripts(env), [], []
    for name in names:
        if name in known or not _may_be_run(name, env, models):
            baselines.append(name)
            continue
        try:
            runs.append(open_model(name, models))
        except UnknownRun as unknown:
            if "/" in name or ":" in name or _several(env):
                raise
            try:
                check_strategies(entry(env).load(), [name])
            except UnknownName as error:
                message = f"{error.message}, and no training run has that name"
                raise UnknownName(message, error.hint or unknown.hint) from None
    return baselines, runs


def _scripts(env: str) -> list[str]:
    """Baselines of a single-agent environment; those of a market depend on the role and are checked later."""
    return [] if _several(env) else known_strategies(entry(env).load())


def _several(env: str) -> bool:
    return len(entry(env).load().role_names) > 1


def _may_be_run(name: str, env: str, models: Path | None) -> bool:
    """Whether `name` may name a run; in a market only if it looks like one, since baselines go by role there."""
    from mayavi.rl.training_runs.folder import list_runs, models_path

    if not _several(env) or name == "latest" or any(letter.isdigit() or letter in "/:" for letter in name):
        return True
    return name in {each.run_id for each in list_runs(models_path(models))}


def _first_rival(names: Sequence[str], models: Path | None) -> Model | None:
    """The first of `names` that is a training run."""
    from mayavi.rl.models import open_model

    for name in names:
        try:
            return open_model(name, models)
        except UnknownName:
            continue
    return None
