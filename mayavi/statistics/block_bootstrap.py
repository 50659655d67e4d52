"""Stationary block bootstrap for time series whose neighbouring values depend on each other.

Politis and Romano (1994): a block starts anywhere, continues from each value to the next with probability
1 - 1/length, and wraps around at the end. Serial dependence within a block, such as clustered volatility, is kept;
drawing single values would lose it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.numerics.streams import stream

Floats = NDArray[np.float64]

_VALUES_AT_ONCE = 1_000_000


def block_indices(length: int, resamples: int, *, block: int, seed: int = 0) -> Iterator[NDArray[np.int64]]:
    """Draw indices into a series of `length`: arrays of shape (rows, length), `resamples` rows in all.

    `block` is the mean length of a block. Arrays come in batches, so memory does not grow with `resamples`.
    """
    if block < 1:
        raise UsageError(f"blocks of {block} values are empty", "a block has at least one value")
    rng = stream(seed, "block bootstrap")
    at_once = max(1, _VALUES_AT_ONCE // length)
    for start in range(0, resamples, at_once):
        rows = min(at_once, resamples - start)
        fresh = rng.random((rows, length)) < 1 / block
        fresh[:, 0] = True
        begins = rng.integers(length, size=(rows, length))
        places = np.arange(length)
        since = np.maximum.accumulate(np.where(fresh, places, 0), axis=1)  # start of each value's block
        yield (np.take_along_axis(begins, since, axis=1) + places - since) % length


def resampled_statistics(
    series: Mapping[str, tuple[Floats, ...]],
    statistics: Callable[..., Mapping[str, Floats]],
    *,
    resamples: int,
    block: int,
    seed: int = 0,
) -> dict[str, dict[str, Floats]]:
    """Statistics of each series in `resamples` samples; all series are resampled at the same indices.

    A series is a tuple of arrays of one length. `statistics(*resampled)` gets arrays of shape (rows, length) and
    returns arrays of shape (rows,) by name. Returns arrays of shape (resamples,) by series and statistic.
    """
    parts: dict[str, dict[str, list[Floats]]] = {name: {} for name in series}
    (length,) = {len(array) for arrays in series.values() for array in arrays}
    for drawn in block_indices(length, resamples, block=block, seed=seed):
        for name, arrays in series.items():
            for statistic, figures in statistics(*(array[drawn] for array in arrays)).items():
                parts[name].setdefault(statistic, []).append(figures)
    return {name: {each: np.concatenate(found) for each, found in own.items()} for name, own in parts.items()}
