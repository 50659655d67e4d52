"""Prices with shocks that unfold over several steps, so that who watches them can still act."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mayavi.gym_env.lending_config import LendingConfig
from mayavi.gym_env.lending_start import between
from mayavi.markets.diffusions import walk_paths
from mayavi.markets.process import Floats


def drawn_paths(
    config: LendingConfig, start: float, step_seconds: int, chances: Sequence[np.random.Generator]
) -> tuple[Floats, Floats]:
    """For each of `chances` the price at the start and after each step, and the volatility it was drawn with.

    A path is that of `markets.GeometricBrownianMotion` with a drawn volatility, to the last bit, and in a share of the
    episodes times one `markets.Ramp`, whose first step, length and size are drawn; it ends within the episode. All
    paths are worked out at once, for a path at a time would take longer than the steps of an episode.
    """
    steps, count = config.horizon, len(chances)
    noise, drawn = np.empty((count, steps)), []
    least, most = config.shock_steps
    for row, chance in enumerate(chances):
        own = between(config.volatility, chance.random())
        chance.standard_normal(out=noise[row])
        happens, depth = chance.random(2).tolist()
        lasts = min(int(chance.integers(least, most + 1)), steps)
        first = int(chance.integers(0, steps - lasts + 1))
        drawn.append((own, happens < config.shock_chance, between(config.shock_size, depth), lasts, first))
    volatility, shocked, size, length, begin = np.array(drawn, dtype=np.float64).reshape(count, 5, 1).swapaxes(0, 1)
    paths = walk_paths(np.full(count, start), volatility[:, 0], noise, step_seconds)
    passed = np.clip((np.arange(steps + 1) - begin) / length, 0.0, 1.0)
    top = 1.0 + size
    ramps: Floats = np.where(shocked > 0, 1.0 + (top - 1.0) * passed, 1.0)
    return paths * ramps, volatility[:, 0]
