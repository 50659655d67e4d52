"""Those who play: the environment's own scripted strategies, chance, a computed plan, a trained policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UnknownName, UsageError
from mayavi.gym_env.rows import Observations, RowsEnv
from mayavi.numerics.streams import stream
from mayavi.rl.evaluation.play import Policy, Strategy

RANDOM, OPTIMUM = "random", "optimum"


@dataclass(frozen=True, slots=True)
class Scripted:
    """One of `RowsEnv.strategies`."""

    name: str
    play: Callable[[Any], NDArray[Any]]

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """It remembers nothing."""

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """What the script says."""
        return self.play(env)


@dataclass(slots=True)
class Chance:
    """Uniformly random actions; those of an episode follow from `seed` and its number alone."""

    seed: int = 0
    name: str = RANDOM
    _rngs: list[np.random.Generator] = field(default_factory=list, repr=False)

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """A stream for each episode."""
        self._rngs = [stream(self.seed, "random play", env.name, str(episode)) for episode in episodes]

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """Any action, each as likely as the others."""
        from gymnasium import spaces

        space = env.action_space
        if isinstance(space, spaces.Discrete):
            return np.array([rng.integers(int(space.n)) for rng in self._rngs]) + int(space.start)
        assert isinstance(space, spaces.Box)
        return np.stack([rng.uniform(space.low, space.high) for rng in self._rngs])


@dataclass(slots=True)
class Planned:
    """For each episode a list of actions, decided beforehand."""

    name: str
    plans: Mapping[int, NDArray[Any]]
    _now: list[NDArray[Any]] = field(default_factory=list, repr=False)

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """Take the plan of each episode."""
        self._now = [self.plans[episode] for episode in episodes]

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """The next of the plan; its last again where it is over."""
        return np.array([plan[min(int(step), len(plan) - 1)] for plan, step in zip(self._now, env.steps, strict=True)])


@dataclass(slots=True)
class Trained:
    """A policy that was trained: `deterministic` takes the action it thinks best, otherwise it draws one."""

    name: str
    policy: Policy
    deterministic: bool = True
    seed: int = 0
    _state: Any = field(default=None, repr=False)
    _rng: np.random.Generator = field(default_factory=lambda: stream(0, "policy"), repr=False)

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """Forget the episodes before; what is drawn follows from the episodes of this batch."""
        self._state = None
        self._rng = stream(self.seed, "policy", env.name, *(str(episode) for episode in episodes))

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """What the policy does."""
        chosen, self._state = self.policy.actions(
            observations, self._state, deterministic=self.deterministic, rng=self._rng
        )
        return chosen


def known_strategies(env: type[RowsEnv[Any]] | RowsEnv[Any]) -> list[str]:
    """What `--against` takes for this environment."""
    return [*env.strategies, RANDOM, OPTIMUM]


def check_strategies(env: type[RowsEnv[Any]] | RowsEnv[Any], names: Sequence[str]) -> None:
    """`UnknownName` with the nearest for the first of `names` that this environment does not have."""
    known = known_strategies(env)
    for name in names:
        if name not in known:
            raise UnknownName.of("strategy", name, known, f"'{env.name}' has {', '.join(known)}")


def baseline(env: RowsEnv[Any], name: str, *, seed: int = 0) -> Strategy:
    """The strategy of that name that needs neither a model nor a search."""
    if name == RANDOM:
        return Chance(seed)
    check_strategies(env, [name])
    if name == OPTIMUM:
        raise UsageError("the optimum has to be searched first", "`find_optimum(make, episodes).plans` is what it does")
    return Scripted(name, env.strategies[name])
