"""Strategies on chosen episodes: every strategy plays the same ones, in batches of the same size.

A strategy is a trained policy, a scripted one of the environment, uniformly random, or a plan that was computed. The
size of a batch belongs to the result: a network's last digits may depend on it, so a last batch that is not full is
filled up with rows whose outcome nobody looks at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.gym_env.rows import Floats, Observations, RowsEnv
from mayavi.rl.evaluation.fingerprints import fingerprint, states

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""`progress(done, total)`."""


class Policy(Protocol):
    """A trained policy over rows, whatever the framework; `state` is its memory, None where episodes begin."""

    def actions(
        self, observations: Observations, state: Any, *, deterministic: bool, rng: np.random.Generator
    ) -> tuple[NDArray[Any], Any]:
        """The actions of all rows, and the memory for the next step."""


@runtime_checkable
class Strategy(Protocol):
    """Who decides. `begin` is called when all rows have started their episodes, `actions` before every step."""

    @property
    def name(self) -> str:
        """What the evaluation calls it."""

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """All rows stand at the start of `episodes`, one for each row."""

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """The actions of all rows now; those of rows whose episode is over have no meaning."""


@dataclass(frozen=True, slots=True)
class Played:
    """What came of the episodes, one entry for each."""

    name: str
    episodes: tuple[int, ...]
    rewards: Floats
    """The sum of an episode's rewards."""
    lengths: NDArray[np.int64]
    terminated: NDArray[Any]
    """Whether it ended by itself, such as by a liquidation, before its horizon. In a market: of how many agents."""
    clipped: NDArray[np.int64]
    starts: tuple[str, ...]
    """The identity of the state it started from."""
    fingerprints: tuple[str, ...]
    actions: tuple[NDArray[Any], ...]
    apart: int | None = None
    """Of how many episodes of the environment none shares anything with another: windows of one history overlap."""

    @property
    def distinct(self) -> int:
        """The effective sample size: how many of the trajectories are not another one again, or lie apart."""
        found = len(set(self.fingerprints))
        return found if self.apart is None else min(found, self.apart)

    @classmethod
    def joined(cls, parts: Sequence[Played]) -> Played:
        """Batch after batch of one strategy."""
        return cls(
            parts[0].name,
            tuple(each for part in parts for each in part.episodes),
            np.concatenate([part.rewards for part in parts]),
            np.concatenate([part.lengths for part in parts]),
            np.concatenate([part.terminated for part in parts]),
            np.concatenate([part.clipped for part in parts]),
            tuple(each for part in parts for each in part.starts),
            tuple(each for part in parts for each in part.fingerprints),
            tuple(each for part in parts for each in part.actions),
            parts[0].apart,
        )


def play(
    env: RowsEnv[Any],
    strategy: Strategy | Policy | str,
    episodes: Sequence[int],
    *,
    deterministic: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> Played:
    """Play `episodes` on the rows of `env`, as many at a time as it has.

    A `strategy` may be one by its name, or a policy, of which `deterministic` takes the best action and otherwise draws
    one; what is drawn, and what `random` does, follows from `seed`.
    """
    from mayavi.rl.evaluation.strategies import Trained, baseline

    if isinstance(strategy, str):
        strategy = baseline(env, strategy, seed=seed)
    elif not isinstance(strategy, Strategy):
        strategy = Trained("policy", strategy, deterministic, seed)
    player, before = strategy, 0

    def one(batch: Sequence[int]) -> Played:
        nonlocal before

        def within(share: float) -> None:
            if progress is not None:
                progress(before + int(share * len(batch)), len(episodes))

        part = _play_batch(env, player, batch, within)
        before += len(batch)
        return part

    return Played.joined(in_batches(env.rows, episodes, one, progress))


def in_batches(
    rows: int, episodes: Sequence[int], play: Callable[[Sequence[int]], T], progress: Progress | None
) -> list[T]:
    """What `play` gives for each batch of at most `rows` episodes."""
    if not len(episodes):
        raise UsageError("no episode is to be played", "give one at least")
    parts = []
    for at in range(0, len(episodes), rows):
        parts.append(play(episodes[at : at + rows]))
        if progress is not None:
            progress(min(at + rows, len(episodes)), len(episodes))
    return parts


def _play_batch(
    env: RowsEnv[Any], strategy: Strategy, episodes: Sequence[int], heard: Callable[[float], None]
) -> Played:
    """The episodes of one batch. `heard` is told how much of it is played: rows of long episodes all end at once."""
    count, rows = len(episodes), env.rows
    filled = [*episodes, *(episodes[-1] for _ in range(rows - count))]
    env.begin(range(rows), filled)
    starts = states(env, range(count))
    strategy.begin(env, filled)
    live = np.arange(rows) < count
    rewards = np.zeros(rows)
    terminated = np.zeros(rows, dtype=np.bool_)
    taken: list[list[NDArray[Any]]] = [[] for _ in range(count)]
    observations, steps = env.observe(), 0
    while live.any():
        wanted = np.asarray(strategy.actions(env, observations))
        stepped = env.step(wanted, live)
        within = in_range(env, wanted)
        for row in np.flatnonzero(live):
            taken[row].append(within[row])
        rewards[live] += stepped.rewards[live]
        terminated |= stepped.terminated & live
        live = live & ~stepped.done
        observations = stepped.observations
        steps += 1
        if live.any():
            left = live.sum() / count
            heard(1.0 - left + left * min(1.0, steps / env.config.horizon))
    actions = tuple(np.array(each) for each in taken)
    return Played(
        strategy.name,
        tuple(int(each) for each in episodes),
        rewards[:count],
        np.array([len(each) for each in taken], dtype=np.int64),
        terminated[:count],
        env.clipped[:count].copy(),
        tuple(start.hex()[:32] for start in starts),
        tuple(fingerprint(start, each) for start, each in zip(starts, actions, strict=True)),
        actions,
        env.apart,
    )


def in_range(env: RowsEnv[Any], actions: NDArray[Any]) -> NDArray[Any]:
    """What `env` makes of `actions`: the nearest it can do, whole numbers where it counts its actions."""
    from gymnasium import spaces

    space = env.action_space
    if isinstance(space, spaces.Discrete):
        first, count = int(space.start), int(space.n)
        return np.asarray(np.clip(np.nan_to_num(actions), first, first + count - 1)).astype(np.int64)
    assert isinstance(space, spaces.Box)
    return np.asarray(np.clip(np.nan_to_num(actions.astype(np.float64)), space.low, space.high))
