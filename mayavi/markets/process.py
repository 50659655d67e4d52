"""Interface of price processes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from mayavi.numerics.parameters import above_zero, whole

Floats = NDArray[np.float64]

SECONDS_PER_YEAR = 365 * 86_400
"""Volatilities, drifts and rates are per year of 365 days, as in lending protocols."""


class PriceProcess(ABC):
    """Price process. Stateless: holds only parameters, so it can draw any number of paths.

    A subclass implements `driven`, and `diffuses` if standard normal shocks move it.
    """

    @property
    def diffuses(self) -> bool:
        """Whether the shocks matter; only then can it be correlated with another process."""
        return False

    def path(self, start: float, steps: int, step_seconds: float, rng: np.random.Generator) -> Floats:
        """Draw `steps` + 1 prices, the first being `start`; `rng` is the only source of randomness and advances.

        A longer path from a generator in the same state begins with the shorter one.
        """
        above_zero("start", start, "a price is more than zero")
        whole("steps", steps, 1, "a path has at least one step")
        above_zero("step_seconds", step_seconds, "time goes forward")
        return self.driven(float(start), rng.standard_normal(steps), float(step_seconds), rng)

    @abstractmethod
    def driven(self, start: float, shocks: Floats, step_seconds: float, rng: np.random.Generator) -> Floats:
        """Return the path driven by standard normal `shocks`, one per step; other randomness, such as jumps, uses
        `rng`.

        Correlated processes receive correlated shocks.
        """

    def driven_each(
        self, start: float, shocks: Floats, step_seconds: float, rngs: Sequence[np.random.Generator]
    ) -> Iterable[Floats]:
        """Return the path of each row of `shocks`, with its generator: bit for bit that of `driven`."""
        return (self.driven(start, row, step_seconds, rng) for row, rng in zip(shocks, rngs, strict=True))
