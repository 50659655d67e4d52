"""Vectorised random draws from many generators, bit-identical to NumPy's.

`uniform` equals `Generator.random`. `below` equals `Generator.integers`, except where `redrawn` is true.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mayavi.numerics.streams import Streams

Raw = NDArray[np.uint64]

_HALF = np.uint64(32)
_LOWER_HALF = np.uint64(2**32 - 1)
_SPARE_BITS = np.uint64(11)


def raw_words(rngs: Sequence[np.random.Generator], count: int) -> Raw:
    """Draw the next `count` words of each generator: (count, generators)."""
    if isinstance(rngs, Streams):
        return rngs.raw_words(count).T
    words = np.empty((len(rngs), count), dtype=np.uint64)
    for row, rng in enumerate(rngs):
        words[row] = rng.bit_generator.random_raw(count)
    return words.T


def uniform(words: Raw) -> NDArray[np.float64]:
    """Convert words to floats in [0, 1)."""
    return (words >> _SPARE_BITS).astype(np.float64) * 2.0**-53


def halves(words: Raw) -> tuple[Raw, Raw]:
    """Split words into lower and upper halves; NumPy draws one integer from each half, the lower first."""
    return words & _LOWER_HALF, words >> _HALF


def below(half_words: Raw, bound: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """Convert half words to integers in [0, bound)."""
    return (half_words * np.asarray(bound, dtype=np.uint64) >> _HALF).astype(np.int64)


def redrawn(half_words: Raw, bound: int | NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether NumPy would draw a different number of half words here, so that `below` does not apply.

    NumPy rejects some half words to make all integers equally likely, and draws none for a bound of 1.
    """
    bounds = np.asarray(bound, dtype=np.uint64)
    remainder = half_words * bounds & _LOWER_HALF
    differs: NDArray[np.bool_] = (remainder < (_LOWER_HALF + np.uint64(1) - bounds) % bounds) | (bounds == 1)
    return differs


def put_back(rng: np.random.Generator, count: int) -> None:
    """Rewind a PCG64 generator by `count` whole words."""
    generator = rng.bit_generator
    assert isinstance(generator, np.random.PCG64)
    generator.advance(-count)
