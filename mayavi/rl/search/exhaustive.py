"""Exhaustive search for the best plan of an episode: every action sequence is played on forked rows.

Sequences that lead to the same state, equal to the last slot, are followed once. The tree is walked depth first, a
block of rows at a time, so at most horizon × block × actions states wait at any moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.gym_env.rows import KeptRows, RowsEnv
from mayavi.rl.evaluation.fingerprints import states
from mayavi.rl.evaluation.play import Progress
from mayavi.rl.search.action_grid import ActionGrid

BLOCK = 256
"""States followed at a time."""
MOST_REMEMBERED = 1_000_000
"""Visited states kept for comparison; beyond that the search stays exact but walks some paths twice."""


@dataclass(frozen=True, slots=True)
class Found:
    """Best plan that a search found for an episode."""

    value: float
    plan: NDArray[Any]
    """Actions, one per step."""
    row_steps: int
    merged: int
    """States that were reached before and not followed again."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """States of one depth that wait to be followed."""

    kept: KeptRows
    returns: NDArray[np.float64]
    plans: NDArray[np.int64]


def rows_needed(grid: ActionGrid, block: int = BLOCK) -> int:
    """Rows of the environment that `search_exhaustively` needs."""
    return block * len(grid)


def search_exhaustively(
    env: RowsEnv[Any], episode: int, grid: ActionGrid, *, progress: Progress | None = None
) -> Found:
    """Best sequence of grid actions in `episode`, on an `env` of `rows_needed(grid)` rows."""
    width, horizon = len(grid), env.config.horizon
    block = env.rows // width
    env.begin([0], [episode])
    first = _Waiting(env.keep([0]), np.zeros(1), np.zeros((1, 0), dtype=np.int64))
    waiting: list[list[_Waiting]] = [[] for _ in range(horizon + 1)]
    waiting[0].append(first)
    remembered: dict[bytes, float] = {}
    best, best_plan = -np.inf, first.plans[0]
    row_steps = merged = covered = 0
    numbers = np.tile(np.arange(width), block)
    actions = np.zeros((env.rows, *grid.values.shape[1:]), dtype=grid.values.dtype)
    actions[: block * width] = grid.values[numbers]
    while deepest := next((level for level in reversed(waiting) if level), None):
        now = _take(deepest, block)
        count = len(now.returns) * width
        rows = np.arange(count)
        env.put(now.kept, rows // width, rows)
        stepped = env.step(actions, np.arange(env.rows) < count)
        row_steps += count
        returns = now.returns[rows // width] + stepped.rewards[:count]
        plans = np.column_stack([now.plans[rows // width], numbers[:count]])
        depth, done = plans.shape[1], stepped.done[:count]
        leaves = width ** (horizon - depth)
        ended = np.flatnonzero(done)
        covered += len(ended) * leaves
        if len(ended) and returns[top := ended[np.argmax(returns[ended])]] > best:
            best, best_plan = float(returns[top]), plans[top]
        fresh: list[int] = []
        for row, state in zip(open_rows := np.flatnonzero(~done), states(env, open_rows), strict=True):
            if remembered.get(state, -np.inf) >= returns[row]:
                merged += 1
                covered += leaves
                continue
            if state in remembered or len(remembered) < MOST_REMEMBERED:
                remembered[state] = float(returns[row])
            fresh.append(int(row))
        if fresh:
            waiting[depth].append(_Waiting(env.keep(fresh), returns[fresh], plans[fresh]))
        if progress is not None:
            progress(min(covered, width**horizon), width**horizon)
    return Found(best, grid.values[best_plan], row_steps, merged)


def _take(level: list[_Waiting], block: int) -> _Waiting:
    """Remove up to `block` states from the end of `level`."""
    last = level.pop()
    if len(last.returns) <= block:
        return last
    level.append(_part(last, slice(block, None)))
    return _part(last, slice(block))


def _part(waiting: _Waiting, which: slice) -> _Waiting:
    kept = waiting.kept
    columns = {name: column[which] for name, column in kept.columns.items()}
    return _Waiting(
        KeptRows(kept.chains[which], kept.episodes[which], columns), waiting.returns[which], waiting.plans[which]
    )
