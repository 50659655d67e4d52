"""Rows that start their next episode on their own, for trainers, and can be saved and resumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.gym_env.episodes import next_episode
from mayavi.gym_env.rows import Floats, RowsEnv, Stepped

Seeds = int | Sequence[int | None] | None


class AutoresetRows:
    """Rows of `env`, each with its own RNG that draws the numbers of its episodes.

    Row i of a batch seeded with s plays the episodes of a single row seeded with s + i. With `resumable` the actions of
    unfinished episodes are kept. `state()` returns them with the RNGs and the episode numbers as JSON data, and
    `restore` replays them, so that a training resumes in the middle of an episode.
    """

    def __init__(self, env: RowsEnv[Any], *, resumable: bool = False) -> None:
        self.env = env
        self.over = np.zeros(env.rows, dtype=np.bool_)
        """Whether a row's episode is over and its next one has not begun."""
        self.returns: Floats = np.zeros(env.rows)
        """Sum of the rewards of each row's episode so far."""
        self._rngs: list[np.random.Generator] = []
        self._all = np.ones(env.rows, dtype=np.bool_)
        self._places = np.arange(env.rows)
        self._played = np.zeros((16, env.rows, *(env.action_space.shape or ()))) if resumable else None
        """Actions of unfinished episodes, by step and row; grows as needed."""

    def seed(self, seed: Seeds) -> None:
        """Seed the RNGs of the rows, by one number for all or one each. None keeps an existing RNG."""
        rows = self.env.rows
        if seed is None:
            seeds: list[int | None] = [None] * rows
        elif isinstance(seed, int | np.integer):
            seeds = [int(seed) + row for row in range(rows)]
        else:
            seeds = list(seed)
            if len(seeds) != rows:
                raise UsageError(f"{len(seeds)} seeds are given for {rows} rows")
        if not self._rngs:
            self._rngs = [seeding.np_random(each)[0] for each in seeds]
            return
        for row, each in enumerate(seeds):
            if each is not None:
                self._rngs[row] = seeding.np_random(each)[0]

    def begin(self, which: NDArray[np.bool_], episodes: Sequence[int | None] | None = None) -> None:
        """Start the next episodes of the rows in `which`; `episodes` may give a number for each, or None."""
        rows = np.flatnonzero(which)
        if not self._rngs:
            self.seed(None)
        chosen = [None] * len(rows) if episodes is None else episodes
        self.env.begin(rows, [next_episode(self._rngs[row]) if number is None else number
                              for row, number in zip(rows, chosen, strict=True)])  # fmt: skip
        self.over[rows], self.returns[rows] = False, 0.0

    def step(self, actions: Any, live: NDArray[np.bool_] | None = None) -> Stepped:
        """Play `actions` in the `live` rows; the others get no reward and no end."""
        alive = self._all if live is None else live
        before = self.env.steps.copy() if self._played is not None else None
        stepped = self.env.step(actions, alive)
        if before is not None:
            self._log(before, actions)
        if live is not None:
            rewards = np.where(alive, stepped.rewards, 0.0)
            stepped = Stepped(stepped.observations, rewards, stepped.terminated & alive, stepped.truncated & alive)
        self.returns += stepped.rewards
        self.over |= stepped.done
        return stepped

    def _log(self, steps: NDArray[np.int64], actions: Any) -> None:
        """Store `actions`, played in step `steps[row]` of each row."""
        assert self._played is not None
        if steps.max() >= len(self._played):
            self._played = np.concatenate([self._played, np.zeros_like(self._played)])
        self._played[steps, self._places] = actions  # a row that did not act overwrites this when it does

    def state(self) -> dict[str, Any]:
        """RNGs, unfinished episodes and their actions, as JSON data. Raises `UsageError` unless `resumable`."""
        if self._played is None:
            raise UsageError("these rows keep no actions, so they cannot be resumed", "make them with resumable=True")
        steps = self.env.steps.tolist()
        return {
            "chances": [each.bit_generator.state for each in self._rngs],
            "episodes": self.env.episodes.tolist(),
            "actions": [self._played[:count, row].tolist() for row, count in enumerate(steps)],
            "over": self.over.tolist(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Resume from the `state()` of rows of the same environment."""
        if len(state["episodes"]) != self.env.rows:
            raise UsageError(f"the state of {len(state['episodes'])} rows does not fit {self.env.rows}")
        self._rngs = [seeding.np_random(0)[0] for _ in state["chances"]]
        for rng, kept in zip(self._rngs, state["chances"], strict=True):
            rng.bit_generator.state = kept
        begun = np.asarray(state["episodes"]) >= 0
        self.begin(begun, [number for number in state["episodes"] if number >= 0])
        lengths = np.array([len(each) for each in state["actions"]])
        for at in range(lengths.max(initial=0)):
            live = lengths > at
            actions = np.zeros((self.env.rows, *(self.env.action_space.shape or ())))
            actions[live] = [each[at] for each in state["actions"] if len(each) > at]
            self.step(actions, live)
        if self.over.tolist() != state["over"]:
            raise UsageError(
                "replaying the unfinished episodes gave another outcome", "the environment or its world has changed"
            )
