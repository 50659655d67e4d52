"""`Policy`: a trained policy over rows, independent of the framework that trained it.

    actions, state = policy.actions(env.observe(), None, deterministic=True)
    actions, state = policy.actions(env.observe(), state, deterministic=False, rng=rng)

`state` is the recurrent state, an array whose first axis is the rows. Zeros start an episode, so set a row to zero when
its episode restarts; None starts all rows. Stochastic actions draw from `rng` only.
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
class Categorical:
    """Distribution over n discrete actions. `logits` has the shape (rows, n).

    A `greedy` distribution always takes the mode, as with the action values of DQN.
    """

    logits: NDArray[np.float64]
    greedy: bool = False

    def mode(self) -> NDArray[Any]:
        """Most likely action of each row."""
        best: NDArray[Any] = self.logits.argmax(axis=1)
        return best

    def sample(self, rng: np.random.Generator) -> NDArray[Any]:
        """Draw one action per row."""
        if self.greedy:
            return self.mode()
        weights = np.exp(self.logits - self.logits.max(axis=1, keepdims=True))
        cumulative = np.cumsum(weights, axis=1)
        drawn = (rng.random(len(cumulative))[:, None] * cumulative[:, -1:] >= cumulative).sum(axis=1)
        return np.asarray(np.minimum(drawn, cumulative.shape[1] - 1))


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Normal distribution per row, clipped to [`low`, `high`].

    A `squashed` one passes through tanh and is scaled to that interval.
    """

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    low: NDArray[Any]
    high: NDArray[Any]
    squashed: bool = False

    def mode(self) -> NDArray[Any]:
        """Action at the mean of each row."""
        return self._to_actions(self.mean)

    def sample(self, rng: np.random.Generator) -> NDArray[Any]:
        """Draw one action per row."""
        return self._to_actions(self.mean + self.deviation * rng.standard_normal(self.mean.shape))

    def _to_actions(self, raw: NDArray[np.float64]) -> NDArray[Any]:
        if self.squashed:
            raw = self.low + (np.tanh(raw) + 1) / 2 * (self.high - self.low)
        return np.clip(raw, self.low, self.high).astype(np.float32)


ActionDistribution = Categorical | Gaussian


class Policy(ABC):
    """Chooses actions for rows of the environment it was trained on."""

    recurrent: bool = False
    normaliser: Normaliser | None = None
    """Observation statistics at the end of the training; None if observations are not normalised."""

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
        """Actions of all rows, and the next recurrent state.

        Raises `ModelMismatch` for observations of another shape, `UsageError` for stochastic play without `rng`.
        """
        raw = np.asarray(observations, dtype=np.float32)
        if raw.shape[1:] != self.observation_space.shape:
            raise ModelMismatch(
                f"the policy was trained on observations of shape {self.observation_space.shape}, not {raw.shape[1:]}",
                "make the environment with the settings of the run: `model.make_env()`",
            )
        distribution, state = self.distribution(raw, state)
        if deterministic:
            chosen = distribution.mode()
        elif rng is None:
            raise UsageError("a stochastic policy needs a random generator", "pass rng=np.random.default_rng(seed)")
        else:
            chosen = distribution.sample(rng)
        start = int(getattr(self.action_space, "start", 0))
        return (chosen + start if start else chosen), state

    def distribution(
        self, observations: NDArray[np.float32], state: State | None
    ) -> tuple[ActionDistribution, State | None]:
        """Action distribution for raw observations, and the next recurrent state."""
        shown = observations if self.normaliser is None else self.normaliser.observations(observations)
        return self.distribution_of_normalised(shown, state)

    @abstractmethod
    def distribution_of_normalised(
        self, observations: NDArray[np.float32], state: State | None
    ) -> tuple[ActionDistribution, State | None]:
        """Action distribution for normalised observations, and the next recurrent state."""
