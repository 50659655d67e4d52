"""`Policy`: a trained policy over rows, whatever trained it.

    actions, state = policy.actions(env.observe(), None, deterministic=True)
    actions, state = policy.actions(env.observe(), state, deterministic=False, rng=rng)

`state` is what a recurrent policy remembers, an array whose first axis is the rows: zeros are the start of an episode,
so a row that begins anew is zeroed. None is the start of all. Chance comes from `rng` alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import ModelMismatch, UsageError

if TYPE_CHECKING:
    from gymnasium import spaces

    from mayavi.rl.training.normaliser import Normaliser

State = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Choice:
    """A distribution over one of n: `logits` by row. `greedy` has no chance in it, as the values of DQN."""

    logits: NDArray[np.float64]
    greedy: bool = False

    def best(self) -> NDArray[Any]:
        """The likeliest."""
        best: NDArray[Any] = self.logits.argmax(axis=1)
        return best

    def drawn(self, rng: np.random.Generator) -> NDArray[Any]:
        """One for each row, by its probability."""
        if self.greedy:
            return self.best()
        weights = np.exp(self.logits - self.logits.max(axis=1, keepdims=True))
        below = np.cumsum(weights, axis=1)
        drawn = (rng.random(len(below))[:, None] * below[:, -1:] >= below).sum(axis=1)
        return np.asarray(np.minimum(drawn, below.shape[1] - 1))


@dataclass(frozen=True, slots=True)
class Gaussian:
    """A normal distribution by row; `squashed` ones go through tanh and are stretched over the action space."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    low: NDArray[Any]
    high: NDArray[Any]
    squashed: bool = False

    def best(self) -> NDArray[Any]:
        """The middle."""
        return self._placed(self.mean)

    def drawn(self, rng: np.random.Generator) -> NDArray[Any]:
        """One for each row."""
        return self._placed(self.mean + self.deviation * rng.standard_normal(self.mean.shape))

    def _placed(self, raw: NDArray[np.float64]) -> NDArray[Any]:
        if self.squashed:
            raw = self.low + (np.tanh(raw) + 1) / 2 * (self.high - self.low)
        return np.clip(raw, self.low, self.high).astype(np.float32)


class Policy(ABC):
    """Acts for rows of the environment it was trained on."""

    recurrent: bool = False
    normaliser: Normaliser | None = None
    """What the policy sees through, as it did at the end of its training."""

    def __init__(self, observation_space: spaces.Box, action_space: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = observation_space, action_space

    def actions(
        self,
        observations: NDArray[Any],
        state: State | None = None,
        *,
        deterministic: bool = True,
        rng: np.random.Generator | None = None,
    ) -> tuple[NDArray[Any], State | None]:
        """What the rows do, and what the policy remembers. `ModelMismatch` where it knows other observations."""
        seen = np.asarray(observations, dtype=np.float32)
        if seen.shape[1:] != self.observation_space.shape:
            raise ModelMismatch(
                f"the policy was trained on observations of the shape {self.observation_space.shape}, "
                f"and is shown {seen.shape[1:]}",
                "make the environment with the settings of the run: `model.make_env()`",
            )
        distribution, state = self.distribution(seen, state)
        if deterministic:
            chosen = distribution.best()
        elif rng is None:
            raise UsageError("a policy that plays by chance needs a generator", "give rng=np.random.default_rng(seed)")
        else:
            chosen = distribution.drawn(rng)
        start = int(getattr(self.action_space, "start", 0))
        return (chosen + start if start else chosen), state

    def distribution(
        self, observations: NDArray[np.float32], state: State | None
    ) -> tuple[Choice | Gaussian, State | None]:
        """What the policy would do, row by row, and what it remembers then."""
        shown = observations if self.normaliser is None else self.normaliser.observations(observations)
        return self.of_seen(shown, state)

    @abstractmethod
    def of_seen(self, observations: NDArray[np.float32], state: State | None) -> tuple[Choice | Gaussian, State | None]:
        """The same, of what the network is shown."""
