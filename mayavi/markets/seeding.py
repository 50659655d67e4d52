"""What NumPy's `SeedSequence` makes of a hash, for many hashes at once.

A generator of NumPy is seeded in microseconds, nearly all of them spent on mixing eight words of entropy. The mixing is
defined to the last bit and will stay so (it is O'Neill's, of her randutils); here it is done on columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence
from numpy.typing import NDArray

Words = NDArray[np.uint32]

_MASK = 2**32 - 1


def _powers(first: int, factor: int, count: int) -> Words:
    return np.array([first * pow(factor, k, 2**32) & _MASK for k in range(count)], dtype=np.uint32)


_MIXING = _powers(0x43B0D7E5, 0x931E8875, 33)
_GIVING = _powers(0x8B51F9DD, 0x58F38DED, 9)
_LEFT, _RIGHT, _HALF = np.uint32(0xCA01F9DD), np.uint32(0x4973F715), np.uint32(16)
_OTHERS = [[other for other in range(4) if other != each] for each in range(4)]


def spread(entropy: Words) -> NDArray[np.uint64]:
    """(n, 8) words of entropy, least significant first, as the (n, 4) words that seed a PCG64."""
    pool = _hashed(entropy[:, :4], _MIXING[:5])
    for each, others in enumerate(_OTHERS):
        pool[:, others] = _mixed(pool[:, others], _hashed(pool[:, each : each + 1], _MIXING[4 + 3 * each :][:4]))
    rest = _hashed(np.repeat(entropy[:, 4:], 4, axis=1), _MIXING[16:])
    for first in range(0, 16, 4):
        pool = _mixed(pool, rest[:, first : first + 4])
    given = np.ascontiguousarray(_hashed(np.tile(pool, 2), _GIVING))
    return given.astype("<u4").view("<u8").astype(np.uint64)


def _hashed(values: Words, factors: Words) -> Words:
    """Each of `values` with the factor of its place and the one after it."""
    found: Words = values ^ factors[:-1]
    found *= factors[1:]
    found ^= found >> _HALF
    return found


def _mixed(one: Words, other: Words) -> Words:
    found: Words = one * _LEFT - other * _RIGHT
    found ^= found >> _HALF
    return found


class Seeded(ISpawnableSeedSequence):
    """The `SeedSequence` of a hash whose words for a PCG64 are known already."""

    def __init__(self, digest: bytes, state: NDArray[np.uint64]) -> None:
        self._digest, self._state = digest, state
        self._whole: np.random.SeedSequence | None = None

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        """What the generator asks for."""
        if n_words == len(self._state) and np.dtype(dtype) == np.uint64:
            return self._state
        return self._sequence().generate_state(n_words, dtype)

    def spawn(self, n_children: int) -> list[np.random.SeedSequence]:  # type: ignore[override]  # as NumPy's own does
        """Seeds of generators of its own."""
        return self._sequence().spawn(n_children)

    def _sequence(self) -> np.random.SeedSequence:
        if self._whole is None:
            self._whole = np.random.SeedSequence(seed_words(self._digest))
        return self._whole


def seed_words(digest: bytes) -> NDArray[np.uint32]:
    """The number that `digest` is, big-endian, as NumPy takes it apart to seed a generator, in half the time."""
    words = np.frombuffer(digest[::-1], dtype="<u4")
    while len(words) > 1 and not words[-1]:  # a number has no leading zeros
        words = words[:-1]
    return words
