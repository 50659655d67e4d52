"""Named random streams: draws from one never depend on draws from another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

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


def streams(seeds: Sequence[int], *names: str) -> Streams:
    """Generators of `stream(seed, *names)` for many seeds at once, which is much faster."""
    return Streams(*_kernel.stream_seeds([_checked(seed) for seed in seeds], names))


class Streams(Sequence[np.random.Generator]):
    """Generators of many seeds. One is made when it is asked for; the kernel draws the words of the others."""

    def __init__(self, digests: bytes, states: NDArray[np.uint64]) -> None:
        self._digests, self._states = digests, states
        self._made: dict[int, np.random.Generator] = {}
        self._drawn = 0  # words of each

    def __len__(self) -> int:
        return len(self._states)

    @overload
    def __getitem__(self, index: int) -> np.random.Generator: ...
    @overload
    def __getitem__(self, index: slice) -> list[np.random.Generator]: ...
    def __getitem__(self, index: int | slice) -> np.random.Generator | list[np.random.Generator]:
        """Return the generator of a place: always the same object."""
        place = range(len(self))[index]
        if isinstance(place, range):
            return [self[each] for each in place]
        if place not in self._made:
            seed = PrecomputedSeed(self._digests[place * 32 : place * 32 + 32], self._states[place])
            generator = np.random.PCG64(seed)  # type: ignore[arg-type]  # NumPy documents it
            self._made[place] = np.random.Generator(generator.advance(self._drawn) if self._drawn else generator)
        return self._made[place]

    def raw_words(self, count: int) -> NDArray[np.uint64]:
        """Draw the next `count` words of each generator: (generators, count)."""
        words = _kernel.stream_words(self._states, self._drawn, count)
        for place, rng in self._made.items():
            words[place] = rng.bit_generator.random_raw(count)
        self._drawn += count
        return words


def _checked(seed: int) -> int:
    if type(seed) is int and 0 <= seed <= LARGEST_SEED:
        return seed
    seed = whole("seed", seed, 0, f"a seed is a whole number from 0 to {LARGEST_SEED}")
    if seed > LARGEST_SEED:
        raise BadInteger(f"seed '{seed}' is out of range", f"a seed is a whole number from 0 to {LARGEST_SEED}")
    return seed
