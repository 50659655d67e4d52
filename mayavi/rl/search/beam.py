"""Beam search for good action sequences of many episodes at once, where an exhaustive search would take too long.

At each depth the search keeps the `width` best states of each episode. The score of a state is the highest return that
one of the environment's scripted strategies reaches from it, played to the end on copied rows. Every such rollout is a
complete plan, so the result is attainable and at least the return of the best script. It is a lower bound of the
optimum, because a dropped state may have led to a higher return.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.gym_env.rows import RowsEnv
from mayavi.rl.evaluation.fingerprints import states
from mayavi.rl.search.action_grid import ActionGrid
from mayavi.rl.search.exhaustive import Found

Script = Callable[[Any], NDArray[Any]]
Plan = list[NDArray[Any]]
"""Actions of an episode, one per step."""
WIDTH = 4


def rows_per_episode(grid: ActionGrid, width: int) -> int:
    """Number of environment rows that one episode needs: the beam, its children, and their rollouts."""
    return width * (1 + 2 * len(grid))


def search_beam(
    env: RowsEnv[Any],
    episodes: Sequence[int],
    grid: ActionGrid,
    *,
    width: int = WIDTH,
    progress: Callable[[int, int], None] | None = None,
) -> list[Found]:
    """Search the best plan of each of `episodes`, all at once on the rows of `env`."""
    if width < 1:
        raise UsageError(f"a beam of width {width} keeps no state", "give a width of at least 1")
    search = _BeamSearch(env, episodes, grid, width)
    search.play_scripts()
    for depth in range(env.config.horizon):
        if not search.advance():
            break
        if progress is not None:
            progress(depth + 1, env.config.horizon)
    return search.found()


class _BeamSearch:
    """State of a search. Arrays over children are indexed by (episode, slot of the beam, action), flattened."""

    def __init__(self, env: RowsEnv[Any], episodes: Sequence[int], grid: ActionGrid, width: int) -> None:
        self.env, self.grid, self.width = env, grid, width
        self.groups, self.actions = len(episodes), len(grid)
        self.beam = np.arange(self.groups * width)
        """Rows of the states in the beam."""
        self.children = self.beam[-1] + 1 + np.arange(self.groups * width * self.actions)
        """Rows of the states one action later."""
        self.ends = self.children[-1] + 1 + np.arange(len(self.children))
        """Rows on which scripts finish the episodes of the children."""
        self.group_of = np.repeat(np.arange(self.groups), width * self.actions)
        self.numbers = np.tile(np.arange(self.actions), self.groups * width)
        self.scripts = _scripts(env, grid)
        self.best_values = np.full(self.groups, -np.inf)
        self.best_plans: list[Plan] = [[] for _ in range(self.groups)]
        self.followed = np.zeros(len(self.beam), dtype=np.bool_)
        self.followed[::width] = True
        self.returns = np.zeros(len(self.beam))
        self.plans: list[Plan] = [[] for _ in self.beam]
        self.row_steps = np.zeros(self.groups, dtype=np.int64)
        self.merged = np.zeros(self.groups, dtype=np.int64)
        env.begin(self.beam[self.followed], list(episodes))

    def play_scripts(self) -> None:
        """Play every script from the start, because it may use actions that the grid lacks."""
        rows = self.ends[: self.groups]
        for script in self.scripts:
            self.env.copy_rows(self.beam[self.followed], rows)
            rest, taken, lengths = _play_out(self.env, script, rows)
            self.row_steps += lengths
            for group in range(self.groups):
                self._keep_if_best(group, rest[group], [], (each[group] for each in taken[: lengths[group]]))

    def advance(self) -> bool:
        """Try every action in the beam's states and keep the best children; return False once all episodes ended."""
        places = np.flatnonzero(np.repeat(self.followed, self.actions))
        earned, done = self._step_children(places)
        plans = {
            place: [*self.plans[place // self.actions], self.grid.values[self.numbers[place]]]
            for place in places.tolist()
        }
        for place in places[done[places]].tolist():
            self._keep_if_best(self.group_of[place], earned[place], plans[place])
        places = places[~done[places]]
        if not len(places):
            return False
        scores = self._score(places, earned, plans)
        self._replace_beam(self._select(places, scores), earned, plans)
        return True

    def found(self) -> list[Found]:
        """Best plan of each episode."""
        return [
            Found(float(self.best_values[group]), np.array(self.best_plans[group]), int(steps), int(merged))
            for group, (steps, merged) in enumerate(zip(self.row_steps, self.merged, strict=True))
        ]

    def _keep_if_best(self, group: int, value: float, start: Plan, rest: Iterable[NDArray[Any]] = ()) -> None:
        """Store the plan `start` + `rest` if it is the best of its episode so far."""
        if value > self.best_values[group]:
            self.best_values[group], self.best_plans[group] = value, [*start, *rest]

    def _step_children(self, places: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Step the children in `places`; return each child's reward so far, and whether its episode ended."""
        self.env.copy_rows(places // self.actions, self.children[places])
        wanted = np.zeros((self.env.rows, *self.grid.values.shape[1:]), dtype=self.grid.values.dtype)
        wanted[self.children] = self.grid.values[self.numbers]
        stepped = self.env.step(wanted, _mask(self.env, self.children[places]))
        np.add.at(self.row_steps, self.group_of[places], 1)
        return np.repeat(self.returns, self.actions) + stepped.rewards[self.children], stepped.done[self.children]

    def _score(
        self, places: NDArray[np.intp], earned: NDArray[np.float64], plans: Mapping[int, Plan]
    ) -> NDArray[np.float64]:
        """Highest return that a script reaches from each child; -inf for children not in `places`."""
        scores = np.full(len(self.children), -np.inf)
        for script in self.scripts:
            self.env.copy_rows(self.children[places], self.ends[places])
            rest, taken, lengths = _play_out(self.env, script, self.ends[places])
            np.add.at(self.row_steps, self.group_of[places], lengths)
            totals = earned[places] + rest
            scores[places] = np.maximum(scores[places], totals)
            for at, place in enumerate(places.tolist()):
                actions = (each[at] for each in taken[: lengths[at]])
                self._keep_if_best(self.group_of[place], totals[at], plans[place], actions)
        return scores

    def _select(self, places: NDArray[np.intp], scores: NDArray[np.float64]) -> list[tuple[int, int]]:
        """Select the best distinct states of each episode; return (slot of the beam, child) of each."""
        identities = dict(zip(places.tolist(), states(self.env, self.children[places]), strict=True))
        order = places[np.lexsort((places, -scores[places], self.group_of[places]))]
        chosen: list[tuple[int, int]] = []
        seen: list[set[bytes]] = [set() for _ in range(self.groups)]
        for place in order.tolist():
            group = int(self.group_of[place])
            if identities[place] in seen[group]:
                self.merged[group] += 1
            elif len(seen[group]) < self.width:
                chosen.append((group * self.width + len(seen[group]), place))
                seen[group].add(identities[place])
        return chosen

    def _replace_beam(
        self, chosen: list[tuple[int, int]], earned: NDArray[np.float64], plans: Mapping[int, Plan]
    ) -> None:
        """Copy the chosen children into their slots of the beam."""
        slots, sources = (np.array(each, dtype=np.intp) for each in zip(*chosen, strict=True))
        self.env.copy_rows(self.children[sources], slots)
        self.followed = np.zeros(len(self.beam), dtype=np.bool_)
        self.followed[slots] = True
        self.returns = np.zeros(len(self.beam))
        self.returns[slots] = earned[sources]
        self.plans = [[] for _ in self.beam]
        for slot, place in chosen:
            self.plans[slot] = plans[place]


def _scripts(env: RowsEnv[Any], grid: ActionGrid) -> list[Script]:
    """The environment's scripted strategies; if it has none, one constant strategy per action of the grid."""
    if env.strategies:
        return list(env.strategies.values())

    def always(action: NDArray[Any]) -> Script:
        return lambda env: np.broadcast_to(action, (env.rows, *action.shape)).copy()

    return [always(np.asarray(action)) for action in grid.values]


def _mask(env: RowsEnv[Any], rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    mask = np.zeros(env.rows, dtype=np.bool_)
    mask[rows] = True
    return mask


def _play_out(
    env: RowsEnv[Any], script: Script, rows: NDArray[np.intp]
) -> tuple[NDArray[np.float64], list[NDArray[Any]], NDArray[np.int64]]:
    """Play `rows` to the end with `script`; give their returns, the actions of each step, and episode lengths."""
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
