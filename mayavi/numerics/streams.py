"""Named random streams: draws from one never depend on draws from another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mayavi import _kernel
from mayavi.errors import BadInteger
from mayavi.numerics.parameters import whole
from mayavi.numerics.seeding import PrecomputedSeed

LARGEST_SEED = 2**63 - 1
"""Largest value of a signed 64-bit column."""


def stream(seed: int, *names: str) -> np.random.Generator:
    """Return the random generator of `seed` and `names`. It is deterministic and independent of every other generator.

    The generator is seeded with a hash of both.
    """
    return streams([seed], *names)[0]


def streams(seeds: Sequence[int], *names: str) -> list[np.random.Generator]:
    """Generators of `stream(seed, *names)` for many seeds at once, which is much faster."""
    digests, states = _kernel.stream_seeds([_checked(seed) for seed in seeds], names)
    return [
        np.random.Generator(np.random.PCG64(PrecomputedSeed(digests[at * 32 : at * 32 + 32], state)))  # type: ignore[arg-type]  # NumPy documents it
        for at, state in enumerate(states)
    ]


def _checked(seed: int) -> int:
    if type(seed) is int and 0 <= seed <= LARGEST_SEED:
        return seed
    seed = whole("seed", seed, 0, f"a seed is a whole number from 0 to {LARGEST_SEED}")
    if seed > LARGEST_SEED:
        raise BadInteger(f"seed '{seed}' is out of range", f"a seed is a whole number from 0 to {LARGEST_SEED}")
    return seed
