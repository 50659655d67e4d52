"""Prices with shocks that unfold over several steps, so that who watches them can still act."""

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
    config: LendingConfig, start: float, step_seconds: int, chances: Sequence[np.random.Generator], odd: Rows
) -> tuple[Floats, Floats]:
    """For each of `chances` the price at the start and after each step, and the volatility it was drawn with; `odd` is
    what `drawn_starts` told of them.

    A path is that of `markets.GeometricBrownianMotion` with a drawn volatility, to the last bit, and in a share of the
    episodes times one `markets.Ramp`, whose first step, length and size are drawn; it ends within the episode. All
    paths are worked out at once, for a path at a time would take longer than the steps of an episode.
    """
    steps, count = config.horizon, len(chances)
    volatility = between(config.volatility, uniform(raw_words(chances, 1)[0]))
    noise = np.empty((count, steps))
    for row, chance in enumerate(chances):
        chance.standard_normal(out=noise[row])
    happens, depth = uniform(raw_words(chances, 2))
    shocked, top = happens < config.shock_chance, 1.0 + between(config.shock_size, depth)
    length, begin = _shock_times(config, chances, odd)
    paths = walk_paths(np.full(count, start), volatility, noise, step_seconds)
    passed = np.clip((np.arange(steps + 1) - begin[:, None]) / length[:, None], 0.0, 1.0)
    ramps: Floats = np.where(shocked[:, None], 1.0 + (top[:, None] - 1.0) * passed, 1.0)
    return paths * ramps, volatility


def _shock_times(
    config: LendingConfig, chances: Sequence[np.random.Generator], odd: Rows
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many steps each shock takes, and the step at which it begins; of `odd` chances half a word is left."""
    steps, (least, most) = config.horizon, config.shock_steps
    even = np.delete(np.arange(len(chances)), odd)
    length, begin = np.empty(len(chances), dtype=np.int64), np.empty(len(chances), dtype=np.int64)
    longer, later = halves(raw_words([chances[row] for row in even.tolist()], 1)[0])
    length[even] = np.minimum(least + below(longer, most - least + 1), steps)
    begin[even] = below(later, steps - length[even] + 1)
    again = even[redrawn(longer, most - least + 1) | redrawn(later, steps - length[even] + 1)]
    for row in again.tolist():
        put_back(chances[row], 1)
    for row in (*odd.tolist(), *again.tolist()):
        length[row] = min(int(chances[row].integers(least, most + 1)), steps)
        begin[row] = chances[row].integers(0, steps - length[row] + 1)
    return length, begin
