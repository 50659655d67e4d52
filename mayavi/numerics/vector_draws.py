"""Vectorised random draws from many generators, bit-identical to NumPy's.

They equal `Generator.random` and pairs of `Generator.integers`, except where `redrawn` is true.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Raw = NDArray[np.uint64]

_HALF = np.uint64(32)
_LOWER_HALF = np.uint64(2**32 - 1)
_SPARE_BITS = np.uint64(11)


def raw_words(rngs: Sequence[np.random.Generator], count: int) -> Raw:
    """Draw the next `count` words of each generator: (count, generators)."""
    words = np.empty((len(rngs), count), dtype=np.uint64)
    for row, rng in enumerate(rngs):
        words[row] = rng.bit_generator.random_raw(count)
    return words.T


def uniform(words: Raw) -> NDArray[np.float64]:
    """Convert words to floats in [0, 1)."""
    return (words >> _SPARE_BITS).astype(np.float64) * 2.0**-53


def halves(words: Raw) -> tuple[Raw, Raw]:
    """Split words into lower and upper halves; each half makes one integer."""
    return words & _LOWER_HALF, words >> _HALF


def below(some: Raw, bound: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """Convert halves to integers in [0, bound)."""
    return (some * np.asarray(bound, dtype=np.uint64) >> _HALF).astype(np.int64)


def redrawn(some: Raw, bound: int | NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether NumPy consumes other words here.

    It rejects some words to make all integers equally likely, and consumes none for a bound of 1.
    """
    bounds = np.asarray(bound, dtype=np.uint64)
    rest = some * bounds & _LOWER_HALF
    again: NDArray[np.bool_] = (rest < (_LOWER_HALF + np.uint64(1) - bounds) % bounds) | (bounds == 1)
    return again


def put_back(rng: np.random.Generator, count: int) -> None:
    """Rewind a PCG64 generator by `count` whole words."""
    generator = rng.bit_generator
    assert isinstance(generator, np.random.PCG64)
    generator.advance(-count)
