"""Random streams by name: what one draws never depends on who else draws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mayavi import _kernel
from mayavi.errors import BadInteger
from mayavi.numerics.parameters import whole
from mayavi.numerics.seeding import Seeded

LARGEST_SEED = 2**63 - 1
"""What a signed 64-bit column holds."""


def stream(seed: int, *names: str) -> np.random.Generator:
    """The generator that belongs to `names` in the run of `seed`: the same each time, unlike that of any other names.

    The seed of the generator is the hash of both, so that neighbouring seeds and names have nothing in common.
    """
    return streams([seed], *names)[0]


def streams(seeds: Sequence[int], *names: str) -> list[np.random.Generator]:
    """`stream(seed, *names)` for each of `seeds`; for many of them in a fraction of the time."""
    digests, states = _kernel.stream_seeds([_checked(seed) for seed in seeds], names)
    return [
        np.random.Generator(np.random.PCG64(Seeded(digests[at * 32 : at * 32 + 32], state)))  # type: ignore[arg-type]  # NumPy documents it
        for at, state in enumerate(states)
    ]


def _checked(seed: int) -> int:
    if type(seed) is int and 0 <= seed <= LARGEST_SEED:
        return seed
    seed = whole("seed", seed, 0, f"a seed is a whole number from 0 to {LARGEST_SEED}")
    if seed > LARGEST_SEED:
        raise BadInteger(f"seed '{seed}' is out of range", f"a seed is a whole number from 0 to {LARGEST_SEED}")
    return seed
