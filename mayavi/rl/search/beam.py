"""Beam search for good plans of many episodes at once, where an exhaustive search would take too long.

At each depth the `width` most promising states of an episode are followed. A state's promise is the best return that
one of the environment's scripted strategies reaches from there, played out on forked rows. Every such rollout is a
complete plan, so the result is attained, and never less than the best script earns. It is a lower bound of the optimum:
states that were dropped may have led further.
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
    """Rows of the environment that one episode takes: the beam, its children, and their rollouts."""
    return width * (1 + 2 * len(grid))


def search_beam(
    env: RowsEnv[Any],
    episodes: Sequence[int],
    grid: ActionGrid,
    *,
    width: int = WIDTH,
    progress: Callable[[int, int], None] | None = None,
) -> list[Found]:
    """Best plan found for each of `episodes`, searched side by side on the rows of `env`."""
    if width < 1:
        raise UsageError(f"a beam of width {width} follows nothing", "take one at least")
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
        """Rows of the states that are followed."""
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
        """Offer the plan of every script from the start: it may use actions that the grid lacks."""
        rows = self.ends[: self.groups]
        for script in self.scripts:
            self.env.copy_rows(self.beam[self.followed], rows)
            rest, taken, lengths = _play_out(self.env, script, rows)
            self.row_steps += lengths
            for group in range(self.groups):
                self._offer(group, rest[group], [], (each[group] for each in taken[: lengths[group]]))

    def advance(self) -> bool:
        """Follow every action of the beam's states and keep the most promising; False once all episodes ended."""
        places = np.flatnonzero(np.repeat(self.followed, self.actions))
        earned, done = self._step_children(places)
        plans = {
            place: [*self.plans[place // self.actions], self.grid.values[self.numbers[place]]]
            for place in places.tolist()
        }
        for place in places[done[places]].tolist():
            self._offer(self.group_of[place], earned[place], plans[place])
        places = places[~done[places]]
        if not len(places):
            return False
        promise = self._promise(places, earned, plans)
        self._follow(self._most_promising(places, promise), earned, plans)
        return True

    def found(self) -> list[Found]:
        """Best plan of each episode."""
        return [
            Found(float(self.best_values[group]), np.array(self.best_plans[group]), int(steps), int(merged))
            for group, (steps, merged) in enumerate(zip(self.row_steps, self.merged, strict=True))
        ]

    def _offer(self, group: int, value: float, begun: Plan, rest: Iterable[NDArray[Any]] = ()) -> None:
        """Keep a complete plan if it is the best of its episode so far."""
        if value > self.best_values[group]:
            self.best_values[group], self.best_plans[group] = value, [*begun, *rest]

    def _step_children(self, places: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return so far and whether the episode ended, of every child."""
        self.env.copy_rows(places // self.actions, self.children[places])
        wanted = np.zeros((self.env.rows, *self.grid.values.shape[1:]), dtype=self.grid.values.dtype)
        wanted[self.children] = self.grid.values[self.numbers]
        stepped = self.env.step(wanted, _mask(self.env, self.children[places]))
        np.add.at(self.row_steps, self.group_of[places], 1)
        return np.repeat(self.returns, self.actions) + stepped.rewards[self.children], stepped.done[self.children]

    def _promise(
        self, places: NDArray[np.intp], earned: NDArray[np.float64], plans: Mapping[int, Plan]
    ) -> NDArray[np.float64]:
        """Best return that a script reaches from each child, -inf for those not in `places`."""
        promise = np.full(len(self.children), -np.inf)
        for script in self.scripts:
            self.env.copy_rows(self.children[places], self.ends[places])
            rest, taken, lengths = _play_out(self.env, script, self.ends[places])
            np.add.at(self.row_steps, self.group_of[places], lengths)
            totals = earned[places] + rest
            promise[places] = np.maximum(promise[places], totals)
            for at, place in enumerate(places.tolist()):
                actions = (each[at] for each in taken[: lengths[at]])
                self._offer(self.group_of[place], totals[at], plans[place], actions)
        return promise

    def _most_promising(self, places: NDArray[np.intp], promise: NDArray[np.float64]) -> list[tuple[int, int]]:
        """(slot of the beam, child) of the distinct states to follow, best first."""
        identities = dict(zip(places.tolist(), states(self.env, self.children[places]), strict=True))
        order = places[np.lexsort((places, -promise[places], self.group_of[places]))]
        chosen: list[tuple[int, int]] = []
        met: list[set[bytes]] = [set() for _ in range(self.groups)]
        for place in order.tolist():
            group = int(self.group_of[place])
            if identities[place] in met[group]:
                self.merged[group] += 1
            elif len(met[group]) < self.width:
                chosen.append((group * self.width + len(met[group]), place))
                met[group].add(identities[place])
        return chosen

    def _follow(self, chosen: list[tuple[int, int]], earned: NDArray[np.float64], plans: Mapping[int, Plan]) -> None:
        """Make the chosen children the beam."""
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
    """The environment's scripted strategies, or one that repeats each action if it has none."""
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
    """Play `rows` to the end with `script`: returns, the actions of each step, and episode lengths."""
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
