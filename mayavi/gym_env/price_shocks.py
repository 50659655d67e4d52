"""Prices with shocks that unfold over several steps, so that who watches them can still act."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mayavi.gym_env.lending_config import LendingConfig
from mayavi.markets import GeometricBrownianMotion, Ramp

if TYPE_CHECKING:
    from mayavi.markets.process import Floats


def drawn_path(config: LendingConfig, start: float, step_seconds: int, chance: np.random.Generator) -> Floats:
    """The price at the start and after each step: a geometric Brownian motion, in most episodes times one ramp.

    Volatility, and the ramp's first step, length and size are drawn from `config`'s intervals; it ends in the episode.
    """
    steps = config.horizon
    path = GeometricBrownianMotion(chance.uniform(*config.volatility)).path(start, steps, step_seconds, chance)
    shocked, size = chance.random() < config.shock_chance, chance.uniform(*config.shock_size)
    length = min(int(chance.integers(config.shock_steps[0], config.shock_steps[1] + 1)), steps)
    begin = int(chance.integers(0, steps - length + 1))
    if shocked:
        path *= Ramp(begin, begin + length, size).path(1.0, steps, step_seconds, chance)
    return path
