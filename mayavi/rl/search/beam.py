"""A good plan of many episodes at once, where trying everything would take too long.

At each depth the `width` most promising states of an episode go on. How promising a state is, is played out: each of
the environment's scripted strategies finishes the episode from there on forked rows, and the best outcome counts. Every
such outcome is a whole plan, so what comes out is attained and never less than what the best script earns. It is a
lower bound of the optimum: nobody knows what the states that were left behind would have given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.gym_env.rows import RowsEnv
from mayavi.rl.evaluation.fingerprints import states
from mayavi.rl.search.action_grid import ActionGrid
from mayavi.rl.search.exhaustive import Found

Script = Callable[[Any], NDArray[Any]]
WIDTH = 4


def rows_per_episode(grid: ActionGrid, width: int) -> int:
    """How many rows of the environment one episode takes: the beam, what follows from it, and where that leads."""
    return width * (1 + 2 * len(grid))


class _Best:
    """The best whole plans so far, one for each episode."""

    def __init__(self, groups: int) -> None:
        self.values = np.full(groups, -np.inf)
        self.plans: list[list[NDArray[Any]]] = [[] for _ in range(groups)]

    def offer(self, group: int, value: float, begun: list[NDArray[Any]], rest: Iterable[NDArray[Any]] = ()) -> None:
        """Take the plan where it is better than the one there is."""
        if value > self.values[group]:
            self.values[group], self.plans[group] = value, [*begun, *rest]


def search_beam(
    env: RowsEnv[Any],
    episodes: Sequence[int],
    grid: ActionGrid,
    *,
    width: int = WIDTH,
    progress: Callable[[int, int], None] | None = None,
) -> list[Found]:
    """The best plan found for each of `episodes`, all of them searched side by side on the rows of `env`."""
    if width < 1:
        raise UsageError(f"a beam of width {width} follows nothing", "take one at least")
    groups, actions, horizon = len(episodes), len(grid), env.config.horizon
    beam = np.arange(groups * width)
    children = beam[-1] + 1 + np.arange(groups * width * actions)
    ends = children[-1] + 1 + np.arange(len(children))
    group_of = np.repeat(np.arange(groups), width * actions)
    numbers = np.tile(np.arange(actions), groups * width)
    scripts = _scripts(env, grid)
    best = _Best(groups)
    followed = np.zeros(len(beam), dtype=np.bool_)
    followed[::width] = True
    returns = np.zeros(len(beam))
    plans: list[list[NDArray[Any]]] = [[] for _ in beam]
    row_steps, merged = np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64)
    env.begin(beam[followed], list(episodes))
    for script in scripts:  # a script may do what the grid does not have
        env.copy_rows(beam[followed], ends[:groups])
        rest, taken, lengths = _played_out(env, script, ends[:groups])
        row_steps += lengths
        for group in range(groups):
            best.offer(group, rest[group], [], (each[group] for each in taken[: lengths[group]]))
    for depth in range(horizon):
        open_ = np.repeat(followed, actions)
        places = np.flatnonzero(open_)
        env.copy_rows(places // actions, children[places])
        wanted = np.zeros((env.rows, *grid.values.shape[1:]), dtype=grid.values.dtype)
        wanted[children] = grid.values[numbers]
        stepped = env.step(wanted, _mask(env, children[places]))
        np.add.at(row_steps, group_of[places], 1)
        earned = np.repeat(returns, actions) + stepped.rewards[children]
        done = stepped.done[children]
        plans_now = {place: [*plans[place // actions], grid.values[numbers[place]]] for place in places.tolist()}
        for place in places[done[places]].tolist():
            best.offer(group_of[place], earned[place], plans_now[place])
        places = places[~done[places]]
        if not len(places):
            break
        promise = np.full(len(children), -np.inf)
        for script in scripts:
            env.copy_rows(children[places], ends[places])
            rest, taken, lengths = _played_out(env, script, ends[places])
            np.add.at(row_steps, group_of[places], lengths)
            totals = earned[places] + rest
            promise[places] = np.maximum(promise[places], totals)
            for at, place in enumerate(places.tolist()):
                rest_of_it = (each[at] for each in taken[: lengths[at]])
                best.offer(group_of[place], totals[at], plans_now[place], rest_of_it)
        chosen, repeated = _most_promising(env, children, places, promise, group_of, groups, width)
        merged += repeated
        fresh: list[list[NDArray[Any]]] = [[] for _ in beam]
        followed = np.zeros(len(beam), dtype=np.bool_)
        for slot, place in chosen:
            fresh[slot] = plans_now[place]
            followed[slot] = True
        slots, sources = (np.array(each, dtype=np.intp) for each in zip(*chosen, strict=True))
        env.copy_rows(children[sources], slots)
        returns = np.zeros(len(beam))
        returns[slots] = earned[sources]
        plans = fresh
        if progress is not None:
            progress(depth + 1, horizon)
    return [
        Found(float(best.values[group]), np.array(best.plans[group]), int(row_steps[group]), int(merged[group]))
        for group in range(groups)
    ]


def _scripts(env: RowsEnv[Any], grid: ActionGrid) -> list[Script]:
    """How states are played out: as the environment's strategies do, or with one action for good where it has none."""
    if env.strategies:
        return list(env.strategies.values())

    def always(action: NDArray[Any]) -> Script:
        return lambda env: np.broadcast_to(action, (env.rows, *action.shape)).copy()

    return [always(np.asarray(action)) for action in grid.values]


def _mask(env: RowsEnv[Any], rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    mask = np.zeros(env.rows, dtype=np.bool_)
    mask[rows] = True
    return mask


def _played_out(
    env: RowsEnv[Any], script: Script, rows: NDArray[np.intp]
) -> tuple[NDArray[np.float64], list[NDArray[Any]], NDArray[np.int64]]:
    """What `rows` earn to the end under `script`, the actions of each step, and how many of them were theirs."""
    live = _mask(env, rows)
    earned, lengths, taken = np.zeros(len(rows)), np.zeros(len(rows), dtype=np.int64), []
    while live.any():
        wanted = script(env)
        taken.append(np.asarray(wanted)[rows].copy())
        stepped = env.step(wanted, live)
        earned += np.where(live[rows], stepped.rewards[rows], 0.0)
        lengths += live[rows]
        live &= ~stepped.done
    return earned, taken, lengths


def _most_promising(
    env: RowsEnv[Any],
    children: NDArray[np.intp],
    places: NDArray[np.intp],
    promise: NDArray[np.float64],
    group_of: NDArray[np.intp],
    groups: int,
    width: int,
) -> tuple[list[tuple[int, int]], NDArray[np.int64]]:
    """(slot of the beam, place among the children) of those that go on: distinct states, the best first."""
    identities = dict(zip(places.tolist(), states(env, children[places]), strict=True))
    order = places[np.lexsort((places, -promise[places], group_of[places]))]
    chosen: list[tuple[int, int]] = []
    met: list[set[bytes]] = [set() for _ in range(groups)]
    merged = np.zeros(groups, dtype=np.int64)
    for place in order.tolist():
        group = int(group_of[place])
        if identities[place] in met[group]:
            merged[group] += 1
        elif len(met[group]) < width:
            chosen.append((group * width + len(met[group]), place))
            met[group].add(identities[place])
    return chosen, merged
