"""Tables of a grid: words as limbs, and samples of its states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Limbs = NDArray[np.uint64]
EXPLORED_SCENARIOS = 4
"""Most states explored before a run, besides the extremes of each column."""
SAMPLED_CALLS = 16
"""Most calls whose values show how wide the words of a path are."""


def spread(count: int, most: int) -> NDArray[np.int64]:
    """Return up to `most` evenly spaced indices below `count`."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def extremes(table: Limbs) -> NDArray[np.int64]:
    """Return the states in which a column is lowest or highest, and some others."""
    found = set(spread(len(table), EXPLORED_SCENARIOS).tolist())
    for column in range(0, table.shape[1], 4):
        words = np.lexsort(table[:, column : column + 4].T)
        found |= {int(words[0]), int(words[-1])}
    return np.array(sorted(found), dtype=np.int64)


def sampled(own: Limbs, scenarios: Limbs, reads: Sequence[tuple[int, int]]) -> Limbs:
    """Return rows that show how wide the values of a path are."""
    some = own[spread(len(own), SAMPLED_CALLS)]
    rows = np.repeat(some, len(scenarios), axis=0)
    for word, column in reads:
        rows[:, 4 * word : 4 * word + 4] = np.tile(scenarios[:, 4 * column : 4 * column + 4], (len(some), 1))
    return rows


def limbs_of(words: NDArray[np.uint8]) -> Limbs:
    """Return (rows, words, 32) bytes as limbs, lowest first."""
    limbs = np.ascontiguousarray(words).view(">u8")[..., ::-1].astype(np.uint64)
    return np.ascontiguousarray(limbs.reshape(len(words), -1))


def words_of(limbs: Limbs) -> NDArray[np.uint8]:
    """Return limbs, lowest first, as (rows, words, 32) bytes."""
    swapped = limbs.reshape(len(limbs), -1, 4)[..., ::-1].astype(">u8")
    return np.ascontiguousarray(swapped).view(np.uint8).reshape(len(limbs), -1, 32)


def columns_of(table: Limbs, reads: Sequence[tuple[int, int]]) -> Limbs:
    """Return the columns of the states that a path reads; all of them if it reads none."""
    columns = [table[:, 4 * column : 4 * column + 4] for _, column in reads]
    return np.ascontiguousarray(np.concatenate(columns, axis=1)) if columns else table
