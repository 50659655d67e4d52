"""Price paths with shocks that unfold over several steps, so that a policy can still react."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mayavi.gym_env.lending.config import LendingConfig
from mayavi.gym_env.lending.start import between
from mayavi.gym_env.rows import Rows
from mayavi.markets.diffusions import walk_paths
from mayavi.markets.process import Floats
from mayavi.numerics.vector_draws import below, halves, put_back, raw_words, redrawn, uniform


def drawn_paths(
    config: LendingConfig, start: float, step_seconds: int, rngs: Sequence[np.random.Generator], odd: Rows
) -> tuple[Floats, Floats]:
    """Draw a price path and its volatility from each of `rngs`; a path is the price at the start and after each step.

    Paths equal those of `markets.GeometricBrownianMotion` with a drawn volatility, bit for bit. A share of the episodes
    has one shock: the path is multiplied by a `markets.Ramp` with drawn first step, length and size, which ends within
    the episode. `odd` are the RNGs that hold half a word according to `drawn_starts`. All paths are computed at once,
    because one path at a time would take longer than the steps of an episode.
    """
    steps, count = config.horizon, len(rngs)
    volatility = between(config.volatility, uniform(raw_words(rngs, 1)[0]))
    noise = np.empty((count, steps))
    for row, rng in enumerate(rngs):
        rng.standard_normal(out=noise[row])
    happens, depth = uniform(raw_words(rngs, 2))
    shocked, top = happens < config.shock_chance, 1.0 + between(config.shock_size, depth)
    length, begin = _shock_times(config, rngs, odd)
    paths = walk_paths(np.full(count, start), volatility, noise, step_seconds)
    passed = np.clip((np.arange(steps + 1) - begin[:, None]) / length[:, None], 0.0, 1.0)
    ramps: Floats = np.where(shocked[:, None], 1.0 + (top[:, None] - 1.0) * passed, 1.0)
    return paths * ramps, volatility


def _shock_times(
    config: LendingConfig, rngs: Sequence[np.random.Generator], odd: Rows
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw the length of each shock in steps, and its first step; the RNGs of `odd` still hold half a word."""
    steps, (least, most) = config.horizon, config.shock_steps
    even = np.delete(np.arange(len(rngs)), odd)
    length, begin = np.empty(len(rngs), dtype=np.int64), np.empty(len(rngs), dtype=np.int64)
    longer, later = halves(raw_words([rngs[row] for row in even.tolist()], 1)[0])
    length[even] = np.minimum(least + below(longer, most - least + 1), steps)
    begin[even] = below(later, steps - length[even] + 1)
    again = even[redrawn(longer, most - least + 1) | redrawn(later, steps - length[even] + 1)]
    for row in again.tolist():
        put_back(rngs[row], 1)
    for row in (*odd.tolist(), *again.tolist()):
        length[row] = min(int(rngs[row].integers(least, most + 1)), steps)
        begin[row] = rngs[row].integers(0, steps - length[row] + 1)
    return length, begin
