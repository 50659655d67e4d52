"""Sums over the calls of a grid, computed where the calls run: `Grid.totals`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi import _kernel
from mayavi.evm.devices import explained
from mayavi.evm.fork.grid_tables import Limbs, columns_of, extremes, sampled, words_of
from mayavi.evm.words import Words

LIMBS = 4
"""Limbs of a sum: sums are exact modulo 2²⁵⁶."""
COMPILERS = 2
"""Paths that the driver compiles at a time, while kernels run."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Number computed from the words of a call, equal on a device and on the processor."""

    node: Callable[[Any, Sequence[int]], int]
    """Node of a function, from its builder and the nodes of the words."""
    of: Callable[[Sequence[Words]], NDArray[Any]]
    """Number of each call, from the columns of words: unsigned integers, bools, or objects."""


class Added:
    """Sums of measures by state, and the calls left to the processor."""

    def __init__(self, scenarios: int, calls: int, measures: int) -> None:
        self._calls = calls
        self._sums = np.zeros((measures, scenarios, LIMBS), dtype=np.uint64)
        self._accepted = np.zeros(scenarios, dtype=np.uint64)
        self._never = np.ones(calls, dtype=np.bool_)
        """Calls that are on no recorded path in any state."""

    def add_paths(
        self, paths: Iterable[Any], measures: Sequence[Measure], returns: int, table: Limbs, device: str
    ) -> None:
        """Add the sums of every path, over its calls in all states."""
        sums, some = [(returns + at, LIMBS) for at in range(len(measures))], table[extremes(table)]
        ready = []
        for builder, calls, own, reads in paths:
            if len(calls):
                self._never[calls] = False
                outputs = [builder.output_node(at) for at in range(returns)]
                for measure in measures:
                    builder.output(measure.node(builder, outputs))
                code = builder.device([word for word, _ in reads], sums, sampled(own, some, reads))
                ready.append((code, own, reads))
        try:
            with ThreadPoolExecutor(COMPILERS) as pool:
                loading = [pool.submit(code.load, device, adding=True) for code, _, _ in ready]
                for (code, own, reads), loaded in zip(ready, loading, strict=True):
                    loaded.result()
                    planes, *_ = code.reduce(own, columns_of(table, reads), device, named=False)
                    self._add(planes)
        except _kernel.DeviceError as error:
            raise explained(error) from None

    def _add(self, planes: NDArray[np.uint64]) -> None:
        """Add the sums of a path: accepted calls, a digest (ignored), and the limbs of each sum."""
        self._accepted += planes[0]
        for at, sums in enumerate(self._sums):
            first = 2 + LIMBS * at
            add_limbs(sums, planes[first : first + LIMBS].T)

    def left(self) -> Iterator[tuple[int, NDArray[np.int64], bool]]:
        """States with missing calls: the calls, and whether these are all calls, because some left their path."""
        never, everything = np.flatnonzero(self._never), np.arange(self._calls)
        whole = self._accepted + np.uint64(len(never)) != np.uint64(self._calls)
        for scenario in range(len(whole)) if len(never) else np.flatnonzero(whole).tolist():
            yield scenario, everything if whole[scenario] else never, bool(whole[scenario])

    def replace(self, scenario: int, sums: Sequence[int], *, whole: bool) -> None:
        """Replace sums by the processor's of all calls, or, unless `whole`, add those of the calls on no path."""
        for own, value in zip(self._sums, sums, strict=True):
            limbs = np.array([[(value >> 64 * at) & (2**64 - 1) for at in range(LIMBS)]], dtype=np.uint64)
            if whole:
                own[scenario] = limbs[0]
            else:
                add_limbs(own[scenario : scenario + 1], limbs)

    def words(self) -> list[Words]:
        """Sums of each measure, one word for each state."""
        return [Words(words_of(sums)[:, 0]) for sums in self._sums]


def add_limbs(sums: Limbs, more: Limbs) -> None:
    """Add limbs, lowest first, to those of `sums`, with carries."""
    carry = np.zeros(len(sums), dtype=np.uint64)
    for at in range(LIMBS):
        with_carry = more[:, at] + carry
        added = sums[:, at] + with_carry
        carry = ((with_carry < carry) | (added < with_carry)).astype(np.uint64)
        sums[:, at] = added


def whole_sum(values: NDArray[Any]) -> int:
    """Sum unsigned integers exactly."""
    if values.dtype == object:
        return sum(values.tolist())
    wide = values.astype(np.uint64)
    return (int((wide >> np.uint64(32)).sum()) << 32) + int((wide & np.uint64(2**32 - 1)).sum())
