"""Optimum of an episode in hindsight, the reference for a policy's regret.

The search knows the future of the episode: prices to come, yields to be paid. A policy that sees only the present
cannot be expected to reach the optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UnknownName, UsageError
from mayavi.gym_env.rows import RowsEnv
from mayavi.rl.evaluation.fingerprints import states
from mayavi.rl.evaluation.play import Progress
from mayavi.rl.search.action_grid import POINTS, ActionGrid, action_grid
from mayavi.rl.search.beam import WIDTH, rows_per_episode, search_beam
from mayavi.rl.search.exhaustive import Found, rows_needed, search_exhaustively

Method = Literal["exhaustive", "beam"]
SEARCHES = ("auto", "exhaustive", "beam")
MOST_LEAVES = 600_000
"""`auto` tries all action sequences up to this number: three actions over twelve steps are 531,441."""
BEAM_ROWS = 2_048


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Search settings. `auto` is exhaustive for up to `MOST_LEAVES` sequences, else a beam search."""

    method: str = "auto"
    width: int = WIDTH
    points: int = POINTS

    def __post_init__(self) -> None:
        if self.method not in SEARCHES:
            raise UnknownName.of("search", self.method, SEARCHES, f"there are {', '.join(SEARCHES)}")
        if self.width < 1:
            raise UsageError(f"a beam of width {self.width} keeps no state", "give a width of at least 1")

    def to_json(self) -> dict[str, object]:
        """JSON data."""
        return {"method": self.method, "width": self.width, "points": self.points}


@dataclass(frozen=True, slots=True)
class Optimum:
    """Best plan of every episode, its value, and facts about the search."""

    method: Method
    plans: Mapping[int, NDArray[Any]]
    values: Mapping[int, float]
    facts: dict[str, object]

    @property
    def exact(self) -> bool:
        """Whether no plan on the grid is better; otherwise the values are lower bounds."""
        return self.method == "exhaustive"


def find_optimum(
    make: Callable[[int], RowsEnv[Any]],
    episodes: Sequence[int],
    settings: SearchSettings | None = None,
    *,
    progress: Progress | None = None,
) -> Optimum:
    """Best plan of each of `episodes` in the environment of `make(rows)`; equal starts are searched once."""
    settings = settings or SearchSettings()
    distinct = list(dict.fromkeys(episodes))
    env = make(min(len(distinct), 256))
    grid = action_grid(env, settings.points)
    starts = dict(zip(distinct, _starts(env, distinct), strict=True))
    first = {start: episode for episode, start in reversed(starts.items())}
    wanted = sorted(first.values())
    leaves = len(grid) ** env.config.horizon
    method: Method = "exhaustive" if len(wanted) * leaves <= MOST_LEAVES else "beam"
    if settings.method != "auto":
        method = "exhaustive" if settings.method == "exhaustive" else "beam"
    found = (_exhaustive if method == "exhaustive" else _beam)(make, wanted, grid, settings, progress)
    found_by_episode = {episode: found[first[starts[episode]]] for episode in distinct}
    facts: dict[str, object] = {
        "method": method,
        "bound": "exact on the grid" if method == "exhaustive" else "lower",
        "hindsight": True,
        "grid": grid.to_json(),
        "width": settings.width if method == "beam" else None,
        "sequences": str(leaves),
        "distinct_starts": len(wanted),
        "row_steps": sum(each.row_steps for each in found.values()),
        "states_met_again": sum(each.merged for each in found.values()),
    }
    plans = {episode: each.plan for episode, each in found_by_episode.items()}
    values = {episode: each.value for episode, each in found_by_episode.items()}
    return Optimum(method, plans, values, facts)


def _starts(env: RowsEnv[Any], episodes: Sequence[int]) -> list[bytes]:
    """Digest of the start state of each episode."""
    found: list[bytes] = []
    for at in range(0, len(episodes), env.rows):
        batch = episodes[at : at + env.rows]
        env.begin(range(len(batch)), batch)
        found += states(env, np.arange(len(batch)))
    return found


def _exhaustive(
    make: Callable[[int], RowsEnv[Any]],
    episodes: Sequence[int],
    grid: ActionGrid,
    settings: SearchSettings,
    progress: Progress | None,
) -> dict[int, Found]:
    env = make(rows_needed(grid))
    return {
        episode: search_exhaustively(env, episode, grid, progress=_part(progress, done, 1, len(episodes)))
        for done, episode in enumerate(episodes)
    }


def _beam(
    make: Callable[[int], RowsEnv[Any]],
    episodes: Sequence[int],
    grid: ActionGrid,
    settings: SearchSettings,
    progress: Progress | None,
) -> dict[int, Found]:
    each = rows_per_episode(grid, settings.width)
    together = max(1, min(len(episodes), BEAM_ROWS // each))
    env = make(together * each)
    found: dict[int, Found] = {}
    for at in range(0, len(episodes), together):
        batch = list(episodes[at : at + together])
        advance = _part(progress, at, len(batch), len(episodes))
        found |= dict(zip(batch, search_beam(env, batch, grid, width=settings.width, progress=advance), strict=True))
    return found


def _part(progress: Progress | None, before: int, count: int, episodes: int) -> Progress | None:
    """Progress of a part of `count` episodes, after `before` of all `episodes`."""
    if progress is None:
        return None
    return lambda done, total: progress(before * total + done * count, episodes * total)
