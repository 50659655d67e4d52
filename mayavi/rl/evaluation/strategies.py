"""Strategies: an environment's scripts, random actions, a computed plan, a trained policy.

A strategy plays one role. In a single-agent environment `role` is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UnknownName, UsageError
from mayavi.gym_env.roles import Script
from mayavi.gym_env.rows import Observations, RowsEnv
from mayavi.numerics.streams import stream
from mayavi.rl.policy import Policy

RANDOM, OPTIMUM = "random", "optimum"


@runtime_checkable
class Strategy(Protocol):
    """Chooses the actions of all agents of a role."""

    @property
    def name(self) -> str:
        """Name of the strategy in an evaluation."""

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """Prepare for `episodes`, one for each row; called when all rows are at the start."""

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """Choose the actions of all rows; those of rows whose episode is over are ignored.

        Observations are (rows, entries) and actions (rows, …); with several roles both have an axis of the role's
        agents after that of the rows.
        """


@dataclass(frozen=True, slots=True)
class Scripted:
    """A scripted strategy of an environment's role."""

    name: str
    play: Script

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """Stateless."""

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """The script's actions."""
        return self.play(env)


@dataclass(slots=True)
class RandomPlay:
    """Uniformly random actions, determined by `seed`, the role and the episode number."""

    seed: int = 0
    name: str = RANDOM
    role: str | None = None
    _rngs: list[np.random.Generator] = field(default_factory=list, repr=False)

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """Make an RNG for each episode."""
        key = _key(env, self.role)
        self._rngs = [stream(self.seed, "random play", *key, str(episode)) for episode in episodes]

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """Uniform draws from the action space."""
        from gymnasium import spaces

        role = env.role(self.role)
        space, agents = role.action_space, (role.agents,) if env.multi_agent else ()
        if isinstance(space, spaces.Discrete):
            return np.array([rng.integers(int(space.n), size=agents) for rng in self._rngs]) + int(space.start)
        assert isinstance(space, spaces.Box)
        return np.stack([rng.uniform(space.low, space.high, (*agents, *space.shape)) for rng in self._rngs])


@dataclass(slots=True)
class Planned:
    """Precomputed actions for each episode."""

    name: str
    plans: Mapping[int, NDArray[Any]]
    _now: list[NDArray[Any]] = field(default_factory=list, repr=False)

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """Take the plan of each episode."""
        self._now = [self.plans[episode] for episode in episodes]

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """The next action of each plan; past its end, its last action."""
        return np.array([plan[min(int(step), len(plan) - 1)] for plan, step in zip(self._now, env.steps, strict=True)])


@dataclass(slots=True)
class Trained:
    """A trained policy for all agents of a role: the most likely action if `deterministic`, else a sampled one."""

    name: str
    policy: Policy
    deterministic: bool = True
    seed: int = 0
    role: str | None = None
    _state: Any = field(default=None, repr=False)
    _rng: np.random.Generator = field(default_factory=lambda: stream(0, "policy"), repr=False)

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """Reset the recurrent state and seed the RNG from the role and the episodes of this batch."""
        self._state = None
        self._rng = stream(self.seed, "policy", *_key(env, self.role), *(str(episode) for episode in episodes))

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """The policy's actions."""
        agents, entries = observations.shape[:-1], observations.shape[-1]
        chosen, self._state = self.policy.actions(
            observations.reshape(-1, entries), self._state, deterministic=self.deterministic, rng=self._rng
        )
        return chosen.reshape(*agents, *chosen.shape[1:])


def _key(env: RowsEnv[Any], role: str | None) -> tuple[str, ...]:
    return (env.name,) if role is None else (env.name, role)


def known_strategies(env: type[RowsEnv[Any]] | RowsEnv[Any]) -> list[str]:
    """Strategy names that `--against` accepts for a single-agent environment."""
    return [*env.strategies, RANDOM, OPTIMUM]


def check_strategies(env: type[RowsEnv[Any]] | RowsEnv[Any], names: Sequence[str]) -> None:
    """Raise `UnknownName`, with the nearest names, for the first of `names` that a single agent does not have."""
    known = known_strategies(env)
    for name in names:
        if name not in known:
            raise UnknownName.of("strategy", name, known, f"'{env.name}' has {', '.join(known)}")


def strategies_by_role(env: RowsEnv[Any], against: Sequence[str] | None) -> dict[str, list[str]]:
    """Strategies of `against` that each role has, without duplicates; by default all scripts of the role.

    Raises `UnknownName` for a name that no role has, and `UsageError` for an optimum of several roles.
    """
    if against is None:
        return {role.name: list(role.strategies) for role in env.roles}
    names = list(dict.fromkeys(against))
    if not env.multi_agent:
        check_strategies(env, names)
        return {env.role().name: names}
    known = {role.name: [*role.strategies, RANDOM] for role in env.roles}
    every = list(dict.fromkeys(name for each in known.values() for name in each))
    for name in names:
        if name == OPTIMUM:
            raise UsageError(
                f"a {env.name} has no optimum: the best plan of one agent depends on what the others do",
                f"there are {', '.join(every)}",
            )
        if name not in every:
            hint = "; ".join(f"{role}s have {', '.join(each)}" for role, each in known.items())
            raise UnknownName.of("strategy", name, every, hint)
    return {role: [name for name in names if name in each] for role, each in known.items()}


def baseline(env: RowsEnv[Any], name: str, *, seed: int = 0, role: str | None = None) -> Strategy:
    """Make the scripted or random strategy `name`; `UsageError` for the optimum, which needs a search."""
    if name == RANDOM:
        return RandomPlay(seed, role=role)
    if role is None:
        check_strategies(env, [name])
    if name == OPTIMUM:
        raise UsageError("the optimum has to be searched first", "use `find_optimum(make, episodes).plans`")
    return Scripted(name, env.role(role).strategies[name])
