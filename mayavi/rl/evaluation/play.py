"""Play strategies on given episodes: every strategy plays the same episodes, in batches of the same size.

The batch size is part of the result, because the last digits of a network may depend on it. So the last batch is padded
with rows whose outcome is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.gym_env.rows import Floats, RowsEnv
from mayavi.rl.evaluation.fingerprints import fingerprint, states
from mayavi.rl.evaluation.strategies import Strategy, Trained, baseline
from mayavi.rl.policy import Policy

__all__ = ["Played", "Progress", "Strategy", "play", "play_roles"]

Progress = Callable[[int, int], None]
"""`progress(done, total)`."""


@dataclass(frozen=True, slots=True)
class Played:
    """Outcome of a role, one entry per episode."""

    name: str
    episodes: tuple[int, ...]
    rewards: Floats
    """Return of each episode, averaged over the agents of the role."""
    lengths: NDArray[np.int64]
    """Steps in which an agent of the role acted."""
    terminated: NDArray[Any]
    """Whether the agent was terminated, such as by a liquidation; with several roles, the number of such agents."""
    clipped: NDArray[np.int64]
    starts: tuple[str, ...]
    """Identity of the state at the start."""
    fingerprints: tuple[str, ...]
    """Identity of the trajectory: its start and the actions of all agents, so it is the same for all roles."""
    actions: tuple[NDArray[Any], ...]
    independent_episodes: int | None = None
    """Number of non-overlapping episodes of the environment, or None if all are independent."""

    @property
    def distinct(self) -> int:
        """Effective sample size: the number of distinct trajectories, at most that of independent episodes."""
        found = len(set(self.fingerprints))
        return found if self.independent_episodes is None else min(found, self.independent_episodes)

    @classmethod
    def joined(cls, parts: Sequence[Played]) -> Played:
        """Concatenate the batches of one strategy."""
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
            parts[0].independent_episodes,
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
    """Play `episodes` on the rows of a single-agent environment, as many at a time as it has.

    `strategy` may be a name or a policy. A `deterministic` policy takes its most likely action, otherwise it samples
    one. Samples, and the actions of `random`, follow from `seed`.
    """
    role = env.role().name
    if isinstance(strategy, str):
        strategy = baseline(env, strategy, seed=seed)
    elif not isinstance(strategy, Strategy):
        strategy = Trained("policy", strategy, deterministic, seed)
    return play_roles(env, {role: strategy}, episodes, name=strategy.name, progress=progress)[role]


def play_roles(
    env: RowsEnv[Any],
    strategies: Mapping[str, Strategy],
    episodes: Sequence[int],
    *,
    name: str = "game",
    progress: Progress | None = None,
) -> dict[str, Played]:
    """Play `episodes` with a strategy for each role; returns the outcome of each role under `name`."""
    total, parts = len(episodes), []
    if not total:
        raise UsageError("there are no episodes to play", "give at least one")
    for first in range(0, total, env.rows):
        batch = episodes[first : first + env.rows]

        def within(share: float, first: int = first, size: int = len(batch)) -> None:
            if progress is not None:
                progress(first + int(share * size), total)

        parts.append(_play_batch(env, strategies, batch, name, within))
        within(1.0)
    return {role: Played.joined([part[role] for part in parts]) for role in env.role_agents}


def _play_batch(
    env: RowsEnv[Any],
    strategies: Mapping[str, Strategy],
    episodes: Sequence[int],
    name: str,
    progress: Callable[[float], None],
) -> dict[str, Played]:
    """Play one batch. `progress` takes the finished share of it, because long episodes all end at once."""
    count, rows = len(episodes), env.rows
    filled = [*episodes, *(episodes[-1] for _ in range(rows - count))]
    env.begin(range(rows), filled)
    starts = states(env, range(count))
    for strategy in strategies.values():
        strategy.begin(env, filled)
    acting = env.acting() & (np.arange(rows) < count)[:, None]
    earned, terminated = np.zeros(acting.shape), np.zeros(acting.shape, dtype=np.bool_)
    lengths = {role: np.zeros(rows, dtype=np.int64) for role in env.role_agents}
    taken: list[list[NDArray[Any]]] = [[] for _ in range(count)]
    observations, steps = env.observe(), 0
    while acting.any():
        live = np.asarray(acting.any(axis=1))
        stepped = env.step(_chosen(env, strategies, observations), live)
        played = _by_row(env, stepped.actions)
        for row in np.flatnonzero(live):
            taken[row].append(played[row])
        for role, agents in env.role_agents.items():
            lengths[role] += acting[:, agents].any(axis=1)
        earned += np.where(acting, stepped.rewards.reshape(acting.shape), 0.0)
        terminated |= stepped.terminated.reshape(acting.shape) & acting
        acting &= ~stepped.done.reshape(acting.shape)
        observations, steps = stepped.observations, steps + 1
        if (left := acting.any(axis=1).sum() / count) > 0:
            progress(1.0 - left + left * min(1.0, steps / env.config.horizon))
    actions = tuple(np.array(each) for each in taken)
    fingerprints = tuple(fingerprint(start, each) for start, each in zip(starts, actions, strict=True))
    return {
        role: Played(
            name,
            tuple(int(each) for each in episodes),
            earned[:count, agents].mean(axis=1),
            lengths[role][:count],
            terminated[:count, agents].sum(axis=1) if env.multi_agent else terminated[:count, 0],
            env.clipped_by_agent[:count, agents].sum(axis=1),
            tuple(start.hex()[:32] for start in starts),
            fingerprints,
            actions,
            env.independent_episodes,
        )
        for role, agents in env.role_agents.items()
    }


def _chosen(env: RowsEnv[Any], strategies: Mapping[str, Strategy], observations: Any) -> Any:
    """Actions of all roles, in the form that `RowsEnv.step` takes."""
    if not env.multi_agent:
        return np.asarray(strategies[env.role_names[0]].actions(env, observations))
    return {role: np.asarray(strategies[role].actions(env, seen)) for role, seen in observations.items()}


def _by_row(env: RowsEnv[Any], actions: Any) -> NDArray[Any]:
    """Actions of a step, one entry for each row; several roles are concatenated."""
    if not env.multi_agent:
        return np.asarray(actions)
    return np.concatenate([each.reshape(env.rows, -1) for each in actions.values()], axis=1)
