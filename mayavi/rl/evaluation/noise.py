"""Noise on actions and observations during an evaluation: how much a policy loses when it is disturbed.

Every strategy meets the same action noise in the same step of an episode, so that comparisons stay paired. Baselines
read the state itself, so observation noise concerns trained policies only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.gym_env.rows import Observations, RowsEnv
from mayavi.numerics.streams import stream
from mayavi.rl.evaluation.strategies import Strategy

MOST_DEVIATION = 1_000.0


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise of an evaluation. False without any."""

    actions: float = 0.0
    """Probability of each action to be replaced by a uniformly random one."""
    observations: float = 0.0
    """Standard deviation of the normal noise on each entry of an observation, which is then clipped to its bounds."""

    def __post_init__(self) -> None:
        if not 0 <= self.actions <= 1:  # NaN too
            raise UsageError(
                f"a share of {self.actions:g} random actions is not possible", "--noise-actions is between 0 and 1"
            )
        if not (math.isfinite(self.observations) and 0 <= self.observations <= MOST_DEVIATION):
            raise UsageError(
                f"a noise of {self.observations:g} on observations is not possible",
                f"--noise-observations is a standard deviation from 0 to {MOST_DEVIATION:,.0f}",
            )

    def __bool__(self) -> bool:
        return self.actions > 0 or self.observations > 0

    def to_json(self) -> dict[str, float]:
        """JSON data, which `Noise(**data)` accepts."""
        return {"actions": self.actions, "observations": self.observations}

    def describe(self) -> str:
        """Noise in one phrase."""
        parts = []
        if self.actions:
            parts.append(f"{self.actions * 100:g} % of the actions random")
        if self.observations:
            parts.append(f"observations ± {self.observations:g}")
        return ", ".join(parts)


@dataclass(slots=True)
class Disturbed:
    """A strategy under noise. The draws follow from the seed, the role, the episode and the step."""

    strategy: Strategy
    noise: Noise
    seed: int = 0
    role: str | None = None
    _rngs: list[tuple[np.random.Generator, np.random.Generator]] = field(default_factory=list, repr=False)

    @property
    def name(self) -> str:
        """Name of the strategy."""
        return self.strategy.name

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        """Make RNGs for each episode, those of actions apart from those of observations."""
        key = (env.name,) if self.role is None else (env.name, self.role)
        self._rngs = [
            (
                stream(self.seed, "action noise", *key, str(episode)),
                stream(self.seed, "observation noise", *key, str(episode)),
            )
            for episode in episodes
        ]
        self.strategy.begin(env, episodes)

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        """The strategy's actions on noisy observations, some of them replaced by random ones."""
        chosen = np.asarray(self.strategy.actions(env, self._observed(env, observations)))
        if not self.noise.actions:
            return chosen
        role = env.role(self.role)
        agents = (role.agents,) if env.multi_agent else ()
        drawn = [_draw(rng, role.action_space, agents, self.noise.actions) for rng, _ in self._rngs]
        replaced, random = (np.array(each) for each in zip(*drawn, strict=True))
        extra = chosen.ndim - replaced.ndim
        return np.where(replaced.reshape(*replaced.shape, *(1,) * extra), random, chosen).astype(chosen.dtype)

    def _observed(self, env: RowsEnv[Any], observations: Observations) -> Observations:
        if not self.noise.observations:
            return observations
        space = env.role(self.role).observation_space
        added = np.stack([rng.standard_normal(observations.shape[1:]) for _, rng in self._rngs])
        noisy = np.clip(observations + self.noise.observations * added, space.low, space.high)
        return noisy.astype(observations.dtype)


def _draw(rng: np.random.Generator, space: Any, agents: tuple[int, ...], share: float) -> tuple[Any, Any]:
    """Whether the actions of one row are replaced, and by what. The number of draws does not depend on the outcome."""
    replaced = rng.random(agents) < share
    if hasattr(space, "n"):
        return replaced, rng.integers(int(space.n), size=agents) + int(space.start)
    return replaced, rng.uniform(space.low, space.high, (*agents, *space.shape))


def disturbed(
    players: Mapping[str, Strategy], noise: Noise, seed: int, *, several_roles: bool
) -> Mapping[str, Strategy]:
    """Players under `noise`; unchanged without any."""
    if not noise:
        return players
    return {role: Disturbed(each, noise, seed, role if several_roles else None) for role, each in players.items()}
