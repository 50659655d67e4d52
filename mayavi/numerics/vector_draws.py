"""Numbers out of the words of many generators at once, where a call for each number would take longer than its use.

They are the bits that `Generator.random` and pairs of `Generator.integers` give, but for what `redrawn` tells.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Raw = NDArray[np.uint64]

_HALF = np.uint64(32)
_LOWER_HALF = np.uint64(2**32 - 1)
_SPARE_BITS = np.uint64(11)


def raw_words(chances: Sequence[np.random.Generator], count: int) -> Raw:
    """The next words of each generator: (count, generators)."""
    words = np.empty((len(chances), count), dtype=np.uint64)
    for row, chance in enumerate(chances):
        words[row] = chance.bit_generator.random_raw(count)
    return words.T


def uniform(words: Raw) -> NDArray[np.float64]:
    """Words as numbers from 0 to 1, not included."""
    return (words >> _SPARE_BITS).astype(np.float64) * 2.0**-53


def halves(words: Raw) -> tuple[Raw, Raw]:
    """The lower and the upper half of each word: what integers are made of, two of a word."""
    return words & _LOWER_HALF, words >> _HALF


def below(some: Raw, bound: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """Halves as integers from 0 up to, not including, `bound`."""
    return (some * np.asarray(bound, dtype=np.uint64) >> _HALF).astype(np.int64)


def redrawn(some: Raw, bound: int | NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where NumPy takes other words: it draws again now and then, so that all integers are equally likely to the last
    bit, and takes none at all where there is but one integer.
    """
    bounds = np.asarray(bound, dtype=np.uint64)
    rest = some * bounds & _LOWER_HALF
    again: NDArray[np.bool_] = (rest < (_LOWER_HALF + np.uint64(1) - bounds) % bounds) | (bounds == 1)
    return again


def put_back(chance: np.random.Generator, count: int) -> None:
    """Let a generator that has given nothing but whole words give the last of them again."""
    generator = chance.bit_generator
    assert isinstance(generator, np.random.PCG64)
    generator.advance(-count)
