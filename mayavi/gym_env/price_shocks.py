"""Prices with shocks that unfold over several steps, so that who watches them can still act."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mayavi.gym_env.lending_config import LendingConfig
from mayavi.markets import portable
from mayavi.markets.process import SECONDS_PER_YEAR, Floats


def drawn_paths(
    config: LendingConfig, start: float, step_seconds: int, chances: Sequence[np.random.Generator]
) -> tuple[Floats, Floats]:
    """For each of `chances` the price at the start and after each step, and the volatility it was drawn with.

    A path is that of `markets.GeometricBrownianMotion` with a drawn volatility, to the last bit, and in a share of the
    episodes times one `markets.Ramp`, whose first step, length and size are drawn; it ends within the episode. All
    paths are worked out at once, for a path at a time would take longer than the steps of an episode.
    """
    steps, count = config.horizon, len(chances)
    volatility, size, shocked = np.empty((count, 1)), np.empty((count, 1)), np.empty((count, 1), dtype=np.bool_)
    begin, length = np.empty((count, 1)), np.empty((count, 1))
    noise = np.empty((count, steps))
    least, most = config.shock_steps
    for row, chance in enumerate(chances):
        volatility[row] = chance.uniform(*config.volatility)
        noise[row] = chance.standard_normal(steps)
        shocked[row] = chance.random() < config.shock_chance
        size[row] = chance.uniform(*config.shock_size)
        length[row] = min(int(chance.integers(least, most + 1)), steps)
        begin[row] = chance.integers(0, steps - int(length[row, 0]) + 1)
    years = step_seconds / SECONDS_PER_YEAR
    returns = np.zeros((count, steps + 1))
    returns[:, 1:] = -volatility * volatility / 2 * years + volatility * math.sqrt(years) * noise
    paths = start * portable.exp(np.cumsum(returns, axis=1))
    passed = np.clip((np.arange(steps + 1) - begin) / length, 0.0, 1.0)
    top = 1.0 + size
    ramps: Floats = np.where(shocked, 1.0 + (top - 1.0) * passed, 1.0)
    return paths * ramps, volatility[:, 0]
