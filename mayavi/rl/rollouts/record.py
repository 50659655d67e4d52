"""Play episodes with one strategy and record every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.gym_env.rows import RowsEnv
from mayavi.rl.evaluation.strategies import Strategy
from mayavi.rl.rollouts.file import RecordedEpisode

ROWS = 128
"""Episodes that are played at a time."""


def record_episodes(
    env: RowsEnv[Any],
    strategy: Strategy,
    episodes: Sequence[int],
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[RecordedEpisode]:
    """Play `episodes` of a single-agent environment, `env.rows` at a time; yield them in order."""
    check_single_agent(env)
    for start in range(0, len(episodes), env.rows):
        batch = episodes[start : start + env.rows]
        yield from _record_batch(env, strategy, batch)
        if progress is not None:
            progress(start + len(batch), len(episodes))


def check_single_agent(env: RowsEnv[Any]) -> None:
    """Raise `UsageError` for an environment with several agents."""
    if env.multi_agent:
        raise UsageError(
            f"rollouts of the {env.name} are not recorded: it has several agents", "take another environment"
        )


def _record_batch(env: RowsEnv[Any], strategy: Strategy, episodes: Sequence[int]) -> Iterator[RecordedEpisode]:
    count = len(episodes)
    filled = [*episodes, *(episodes[-1] for _ in range(env.rows - count))]
    env.begin(range(env.rows), filled)
    strategy.begin(env, filled)
    live = np.arange(env.rows) < count
    seen: list[list[NDArray[Any]]] = [[] for _ in range(count)]
    played: list[list[NDArray[Any]]] = [[] for _ in range(count)]
    earned: list[list[float]] = [[] for _ in range(count)]
    terminated = np.zeros(env.rows, dtype=np.bool_)
    observations = env.observe()
    for row in range(count):
        seen[row].append(observations[row].copy())
    while live.any():
        stepped = env.step(np.asarray(strategy.actions(env, observations)), live)
        for row in np.flatnonzero(live).tolist():
            played[row].append(np.array(stepped.actions[row]))
            earned[row].append(float(stepped.rewards[row]))
            seen[row].append(stepped.observations[row].copy())
        terminated |= stepped.terminated & live
        live = live & ~stepped.done
        observations = stepped.observations
    for row, episode in enumerate(episodes):
        yield RecordedEpisode(
            int(episode), np.array(seen[row]), np.array(played[row]), np.array(earned[row]), bool(terminated[row])
        )
