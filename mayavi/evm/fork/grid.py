"""One view for many calls under many scenarios, on a device: `Fork.grid`.

A scenario sets some slots, and the time of the block. What the calls read of all other state is read once, when the
grid is made; each path is recorded once and runs as code. Rows that leave their path are called by the processor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi import _kernel
from mayavi.errors import UsageError
from mayavi.evm.devices import explained
from mayavi.evm.fork import views
from mayavi.evm.words import Words, to_words

if TYPE_CHECKING:
    from mayavi.evm.fork.blocks import ForkBlocks

Limbs = NDArray[np.uint64]
EXPLORED_CALLS = 2_048
EXPLORED_SCENARIOS = 4
"""Calls and scenarios whose paths are recorded before a run, besides the extremes of each column."""
SAMPLED_CALLS = 16
"""Calls whose values say how wide the words of a path are."""


class Grid:
    """Calls × scenarios of one view."""

    def __init__(
        self,
        fork: ForkBlocks,
        to: bytes,
        data: bytes,
        holes: Mapping[int, Any],
        returns: int,
        slots: Sequence[tuple[bytes, int]],
        sender: bytes,
        *,
        timestamp: bool,
        gas: int | None,
    ) -> None:
        self.fork, self._to, self._data, self._sender, self._gas = fork, to, data, sender, gas
        self._returns, self._slots, self._timestamp = returns, list(slots), timestamp
        self._offsets, self.calls, self._words = views.filled(data, holes)
        self._recorder = _kernel.PathRecorder(to, data, self._offsets, self._slots, returns, timestamp, sender, gas)
        self._known = self._explore(self._words)
        self.left = 0
        """Rows of the last run that the processor called."""

    @property
    def paths(self) -> int:
        """Number of recorded paths."""
        return len(self._recorder)

    def _explore(self, words: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Return the path of each call in the present state; new ones are recorded."""
        fork = self.fork
        return fork._fetcher.run(
            lambda: self._recorder.explore(fork._evm, words), (self._to, self._data, self._sender, 0)
        )

    def run(self, scenarios: Sequence[Any] = (), device: str = "cuda") -> list[Words]:
        """Return the words of every call, those of the first scenario first.

        `scenarios` has a column for each slot, then one of timestamps if the time differs. `device` is `cuda`, `cuda:1`
        and so on, or `emulated`, which is slow and for tests.
        """
        rows, table = self._scenarios(scenarios)
        self._explore_some(table)
        outputs = np.zeros((rows, self.calls, self._returns, 32), dtype=np.uint8)
        missing = np.ones((rows, self.calls), dtype=np.bool_)
        for number in range(self.paths):
            self._run_path(number, table, device, outputs, missing)
        self.left = int(missing.sum())
        for scenario in np.flatnonzero(missing.any(axis=1)):
            calls = np.flatnonzero(missing[scenario])
            outputs[scenario, calls] = self._by_processor(table[scenario], calls)
        flat = outputs.reshape(rows * self.calls, self._returns, 32)
        return [Words(flat[:, column]) for column in range(self._returns)]

    def _scenarios(self, columns: Sequence[Any]) -> tuple[int, Limbs]:
        """Return how many there are, and their words as limbs, lowest first."""
        wanted = len(self._slots) + self._timestamp
        if len(columns) != wanted:
            raise UsageError(
                f"scenarios have {len(columns)} columns, the grid wants {wanted}",
                "give a column for each slot, then one of timestamps if the time differs",
            )
        rows = max((len(column) for column in columns if hasattr(column, "__len__")), default=1)
        words = [to_words(column, rows, f"column {at}") for at, column in enumerate(columns)]
        return rows, limbs_of(np.stack(words, axis=1)) if words else np.zeros((rows, 0), dtype=np.uint64)

    def _explore_some(self, table: Limbs) -> None:
        """Record the paths that calls take under the most different scenarios."""
        if not self._slots and not self._timestamp:
            return
        some = spread(self.calls, EXPLORED_CALLS)
        for scenario in extremes(table):
            with self._under(table[scenario]):
                self._explore(np.ascontiguousarray(self._words[some]))

    def _run_path(
        self, number: int, table: Limbs, device: str, outputs: NDArray[np.uint8], missing: NDArray[np.bool_]
    ) -> None:
        builder, calls, own, reads = self._recorder.path(number, self.fork._evm, self._words, self._known)
        if not len(calls):
            return
        columns = [table[:, 4 * column : 4 * column + 4] for _, column in reads]
        # A path that reads nothing of a scenario gives the same under each of them.
        scenarios = np.ascontiguousarray(np.concatenate(columns, axis=1)) if columns else None
        sample = sampled(own, table[extremes(table)], reads)
        flags, found = run_code(builder.device([word for word, _ in reads], [], sample), own, scenarios, device)
        shape = (-1, len(calls))
        accepted = np.broadcast_to(flags.reshape(shape) == 1, (len(table), len(calls)))
        words = words_of(found).reshape(*shape, self._returns, 32)
        words = np.broadcast_to(words, (len(table), len(calls), self._returns, 32))
        outputs[:, calls] = np.where(accepted[..., None, None], words, outputs[:, calls])
        missing[:, calls] &= ~accepted

    @contextmanager
    def _under(self, scenario: Limbs) -> Iterator[None]:
        """Have the state of one scenario for a while."""
        values = [int.from_bytes(word.astype("<u8").tobytes(), "little") for word in scenario.reshape(-1, 4)]
        with self.fork.snapshot():
            for (place, slot), value in zip(self._slots, values, strict=False):
                self.fork.set_storage(place, slot, value)
            if self._timestamp:
                self.fork.set_block(timestamp=values[-1])
            yield

    def _by_processor(self, scenario: Limbs, calls: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Call the view under one scenario without a device."""
        holes = {offset: self._words[calls, at] for at, offset in enumerate(self._offsets)}
        with self._under(scenario):
            columns = views.call_words(
                self.fork,
                self._to,
                self._data,
                holes,
                self._returns,
                self._sender,
                self._gas,
                check=True,
                threads=None,
                verify=False,
            )
        return np.stack([column.words for column in columns], axis=1)


def spread(count: int, most: int) -> NDArray[np.int64]:
    """Return up to `most` evenly spaced indices below `count`."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def extremes(table: Limbs) -> NDArray[np.int64]:
    """Return the scenarios in which a column is lowest or highest, and some others."""
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


def run_code(
    code: _kernel.DeviceCode, table: Limbs, scenarios: Limbs | None, device: str
) -> tuple[NDArray[np.uint8], Limbs]:
    """Run rows on a device; a device that is not there is a `UsageError`."""
    try:
        flags, found, _ = code.run(table, scenarios, device)
        return flags, found
    except _kernel.DeviceError as error:
        raise explained(error) from None


def limbs_of(words: NDArray[np.uint8]) -> Limbs:
    """Return (rows, words, 32) bytes as limbs, lowest first."""
    limbs = np.ascontiguousarray(words).view(">u8")[..., ::-1].astype(np.uint64)
    return np.ascontiguousarray(limbs.reshape(len(words), -1))


def words_of(limbs: Limbs) -> NDArray[np.uint8]:
    """Return limbs, lowest first, as (rows, words, 32) bytes."""
    swapped = limbs.reshape(len(limbs), -1, 4)[..., ::-1].astype(">u8")
    return np.ascontiguousarray(swapped).view(np.uint8).reshape(len(limbs), -1, 32)
