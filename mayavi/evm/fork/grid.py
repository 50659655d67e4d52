"""One view for many calls under many scenarios, on a device: `Fork.grid`.

A scenario sets some slots, and the time of the block. What the calls read of all other state is read once, when the
grid is made; each path is recorded once and runs as code. Rows that leave their path are called by the processor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi import _kernel
from mayavi.errors import UsageError
from mayavi.evm.fork import views
from mayavi.evm.words import Words, to_words

if TYPE_CHECKING:
    from mayavi.evm.fork.calls import ForkCalls

Limbs = NDArray[np.uint64]
SAMPLED = 32
"""Accounts and scenarios whose values say how wide the words of a path are."""


@dataclass(frozen=True, slots=True)
class Path:
    """Recorded path: its function, its calls, what they read, and the columns of scenarios that it reads."""

    builder: _kernel.NativeBuilder
    calls: NDArray[np.uint32]
    table: Limbs
    scenario: list[tuple[int, int]]


class Grid:
    """Calls × scenarios of one view."""

    def __init__(
        self,
        fork: ForkCalls,
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
        paths, left = fork._fetcher.run(
            lambda: fork._evm.record_paths(
                to, data, self._offsets, self._words, self._slots, returns, timestamp, sender, gas
            ),
            (to, data, sender, 0),
        )
        self._paths = [Path(each.builder(), each.accounts, each.table, each.scenario) for each in paths]
        self._left = np.array(left, dtype=np.uint32)

    @property
    def paths(self) -> int:
        """Number of recorded paths."""
        return len(self._paths)

    def run(self, scenarios: Sequence[Any] = (), device: str = "cuda") -> list[Words]:
        """Return the words of every call, those of the first scenario first.

        `scenarios` has a column for each slot, then one of timestamps if the time differs. `device` is `cuda`, `cuda:1`,
        or `emulated`, which is slow and for tests.
        """
        rows, table = self._scenarios(scenarios)
        outputs = np.zeros((rows, self.calls, self._returns, 32), dtype=np.uint8)
        missing = np.zeros((rows, self.calls), dtype=np.bool_)
        missing[:, self._left] = True
        for path in self._paths:
            self._run_path(path, table, rows, device, outputs, missing)
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

    def _run_path(
        self,
        path: Path,
        table: Limbs,
        rows: int,
        device: str,
        outputs: NDArray[np.uint8],
        missing: NDArray[np.bool_],
    ) -> None:
        columns = [table[:, 4 * column : 4 * column + 4] for _, column in path.scenario]
        scenarios = np.ascontiguousarray(np.concatenate(columns, axis=1)) if columns else None
        code = path.builder.device([word for word, _ in path.scenario], [], self._sample(path, table))
        flags, found, _ = run_code(code, path.table, scenarios, device)
        count = len(path.calls)
        times = rows if scenarios is None else 1  # a path that reads no scenario gives the same under each of them
        accepted = np.tile(flags.reshape(-1, count) == 1, (times, 1))
        words = words_of(found).reshape(-1, count, self._returns, 32)
        outputs[:, path.calls] = np.tile(words, (times, 1, 1, 1))
        missing[:, path.calls] = ~accepted

    def _sample(self, path: Path, table: Limbs) -> Limbs:
        """Return rows that show how wide values are."""
        some = np.linspace(0, len(table) - 1, min(len(table), SAMPLED)).astype(np.int64)
        accounts = np.linspace(0, len(path.table) - 1, min(len(path.table), SAMPLED)).astype(np.int64)
        rows = np.repeat(path.table[accounts], len(some), axis=0)
        for word, column in path.scenario:
            rows[:, 4 * word : 4 * word + 4] = np.tile(table[some, 4 * column : 4 * column + 4], (len(accounts), 1))
        return rows

    def _by_processor(self, scenario: Limbs, calls: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Call the view under one scenario without a device."""
        values = [int.from_bytes(word.astype("<u8").tobytes(), "little") for word in scenario.reshape(-1, 4)]
        holes = {offset: self._words[calls, at] for at, offset in enumerate(self._offsets)}
        with self.fork.snapshot():
            for (place, slot), value in zip(self._slots, values, strict=False):
                self.fork.set_storage(place, slot, value)
            if self._timestamp:
                self.fork.set_block(timestamp=values[-1])
            columns = self.fork.call_words(self._to, self._data, holes, self._returns, self._sender, gas=self._gas)
        return np.stack([column.words for column in columns], axis=1)


def run_code(
    code: _kernel.DeviceCode, table: Limbs, scenarios: Limbs | None, device: str
) -> tuple[NDArray[np.uint8], Limbs, dict[str, float]]:
    """Run rows on a device; a device that is not there is a `UsageError`."""
    try:
        return code.run(table, scenarios, device)
    except _kernel.DeviceError as error:
        what, _, hint = str(error).partition("; ")
        raise UsageError(what, hint or None) from None


def limbs_of(words: NDArray[np.uint8]) -> Limbs:
    """Return (rows, words, 32) bytes as limbs, lowest first."""
    limbs = np.ascontiguousarray(words).view(">u8")[..., ::-1].astype(np.uint64)
    return np.ascontiguousarray(limbs.reshape(len(words), -1))


def words_of(limbs: Limbs) -> NDArray[np.uint8]:
    """Return limbs, lowest first, as (rows, words, 32) bytes."""
    swapped = limbs.reshape(len(limbs), -1, 4)[..., ::-1].astype(">u8")
    return np.ascontiguousarray(swapped).view(np.uint8).reshape(len(limbs), -1, 32)
