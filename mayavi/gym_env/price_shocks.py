"""Prices with shocks that unfold over several steps, so that who watches them can still act."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mayavi.gym_env.lending_config import LendingConfig
from mayavi.gym_env.lending_start import between
from mayavi.gym_env.lots import below, halves, raw_words, uniform
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
    volatility = between(config.volatility, uniform(raw_words(chances, 1)[0]))
    noise = np.empty((count, steps))
    for row, chance in enumerate(chances):
        chance.standard_normal(out=noise[row])
    words = raw_words(chances, 3)
    happens, depth = uniform(words[:2])
    shocked, top = happens < config.shock_chance, 1.0 + between(config.shock_size, depth)
    least, most = config.shock_steps
    longer, later = halves(words[2])
    length = np.minimum(least + below(longer, most - least + 1), steps)
    begin = below(later, steps - length + 1)
    paths = walk_paths(np.full(count, start), volatility, noise, step_seconds)
    passed = np.clip((np.arange(steps + 1) - begin[:, None]) / length[:, None], 0.0, 1.0)
    ramps: Floats = np.where(shocked[:, None], 1.0 + (top[:, None] - 1.0) * passed, 1.0)
    return paths * ramps, volatility
