"""Many calls of one view in many states, on a device: `Fork.grid`.

The states differ in the values of some slots, and in the time of the block. All other state is read once, when the grid
is made; each path is recorded once and runs as code. The processor executes calls that leave their path.

`scenarios`, in names here, are these states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi import _kernel
from mayavi.errors import UsageError
from mayavi.evm.devices import check_device as check_device_is_there
from mayavi.evm.devices import check_device_name, check_specialised, explained
from mayavi.evm.fork import views
from mayavi.evm.fork.grid_tables import columns_of, limbs_of, sampled, spread, words_of
from mayavi.evm.fork.grid_tables import extremes as extremes
from mayavi.evm.fork.grid_totals import Added, Measure, whole_sum
from mayavi.evm.words import Words, to_words

if TYPE_CHECKING:
    from mayavi.evm.fork.blocks import ForkBlocks

Limbs = NDArray[np.uint64]
EXPLORED_CALLS = 2_048
"""Most calls whose paths are recorded before a run, in the extreme states."""


class Grid:
    """Calls of one view in many states."""

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
        self.left = 0
        """Number of calls of the last run that the processor executed."""

    @cached_property
    def _known(self) -> NDArray[np.int32]:
        """Path of each call, in the state of its first use."""
        return self._explore(self._words)

    @property
    def paths(self) -> int:
        """Number of recorded paths."""
        return len(self._recorder) if len(self._known) else 0

    def _explore(self, words: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Return the path of each call in the present state; new ones are recorded."""
        fork = self.fork
        return fork._fetcher.run(
            lambda: self._recorder.explore(fork._evm, words), (self._to, self._data, self._sender, 0)
        )

    def run(self, scenarios: Sequence[Any] = (), device: str | None = "cuda", *, check: bool = True) -> list[Words]:
        """Return the words of every call, those in the first state first.

        `scenarios` describes the states: a column for each slot, then one of timestamps if the time differs. `device`
        is `cuda`, `cuda:1` and so on, `emulated`, which is slow and for tests, or None for the processor. With
        `check=False` a failed call gives zeros.
        """
        self._check_device(device)
        rows, table = self._scenarios(scenarios)
        outputs, missing = self._on_device(table, device)
        for scenario in np.flatnonzero(missing.any(axis=1)):
            calls = np.flatnonzero(missing[scenario])
            outputs[scenario, calls] = self._by_processor(table[scenario], calls, check=check)
        flat = outputs.reshape(rows * self.calls, self._returns, 32)
        return [Words(flat[:, column]) for column in range(self._returns)]

    def totals(
        self, measures: Sequence[Measure], scenarios: Sequence[Any] = (), device: str | None = "cuda"
    ) -> list[Words]:
        """Return the sum of each measure over all calls, one word for each state.

        Memory does not grow with calls × states. `scenarios` and `device` are those of `run`. The processor computes
        states in which a call leaves the recorded paths.
        """
        self._check_device(device)
        _, table = self._scenarios(scenarios)
        added = Added(len(table), self.calls, len(measures))
        if device is not None:
            self._explore_some(table)
            paths = (
                self._recorder.path(number, self.fork._evm, self._words, self._known) for number in range(self.paths)
            )
            added.add_paths(paths, measures, self._returns, table, device)
        self.left = 0
        for scenario, calls, whole in added.left():
            self.left += len(calls)
            words = self._by_processor(table[scenario], calls, check=True)
            columns = [Words(words[:, column]) for column in range(self._returns)]
            added.replace(scenario, [whole_sum(measure.of(columns)) for measure in measures], whole=whole)
        return added.words()

    def _on_device(self, table: Limbs, device: str | None) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Return the words of (states, calls) that the device computes, and which calls it leaves to the processor."""
        outputs = np.zeros((len(table), self.calls, self._returns, 32), dtype=np.uint8)
        missing = np.ones((len(table), self.calls), dtype=np.bool_)
        if device is not None:
            self._explore_some(table)
            for number in range(self.paths):
                self._run_path(number, table, device, outputs, missing)
        self.left = int(missing.sum())
        return outputs, missing

    def _check_device(self, device: str | None) -> None:
        """Raise `UsageError` for a name that no device has, or if specialised execution is off."""
        if device is not None:
            check_device_name(device)
            check_specialised(self.fork.specialise)

    def _scenarios(self, columns: Sequence[Any]) -> tuple[int, Limbs]:
        """Return the number of states, and their words as limbs, lowest first."""
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
        """Record the paths that calls take in the most different states."""
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
        # A path that reads no slot of the states has equal outputs in all of them.
        scenarios = columns_of(table, reads) if reads else None
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
        """Context in which the fork has one of the states."""
        values = [int.from_bytes(word.astype("<u8").tobytes(), "little") for word in scenario.reshape(-1, 4)]
        with self.fork.snapshot():
            for (place, slot), value in zip(self._slots, values, strict=False):
                self.fork.set_storage(place, slot, value)
            if self._timestamp:
                self.fork.set_block(timestamp=values[-1])
            yield

    def _by_processor(self, scenario: Limbs, calls: NDArray[np.int64], *, check: bool) -> NDArray[np.uint8]:
        """Execute calls in one state, without a device."""
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
                check=check,
                threads=None,
                verify=False,
            )
        return np.stack([column.words for column in columns], axis=1)


def run_code(
    code: _kernel.DeviceCode, table: Limbs, scenarios: Limbs | None, device: str
) -> tuple[NDArray[np.uint8], Limbs]:
    """Run rows on a device; raise `UsageError` if it is missing."""
    try:
        flags, found, _ = code.run(table, scenarios, device)
        return flags, found
    except _kernel.DeviceError as error:
        raise explained(error) from None


def call_many_on(
    fork: ForkBlocks,
    to: bytes,
    datas: Sequence[bytes],
    sender: bytes,
    gas: int | None,
    device: str,
    *,
    check: bool,
    threads: int | None,
) -> Sequence[bytes | None]:
    """`call_many` with a device for calls on recorded paths; the processor executes the others.

    The calls are of one function, with the same number of words. A path has one length of outputs, so that one call of
    it on the processor tells whether the device's words are the whole output.
    """
    check_device_name(device)
    check_specialised(fork.specialise)
    holes, outputs = _differing_words(datas), _on_processor(fork, to, datas[:1], sender, gas, threads)
    words, rest = divmod(len(outputs[0] or b""), 32)
    if not holes or not words or rest:
        check_device_is_there(device)
        return views.call_many(fork, to, datas, sender, gas, check=check, threads=threads, verify=False)
    grid = Grid(fork, to, datas[0], holes, words, (), sender, timestamp=False, gas=gas)
    found, missing = grid._on_device(np.zeros((1, 0), dtype=np.uint64), device)
    _, firsts, path = np.unique(grid._known, return_index=True, return_inverse=True)
    lengths = [len(each or b"") for each in _on_processor(fork, to, [datas[at] for at in firsts], sender, gas, threads)]
    left = missing[0] | (np.array(lengths) != 32 * words)[path]
    rows = np.flatnonzero(left).tolist()
    answers: list[bytes | None] = [each.tobytes() for each in found[0].reshape(len(datas), 32 * words)]
    others = _on_processor(fork, to, [datas[row] for row in rows], sender, gas, threads)
    if check and None in others:  # repeat, for an error with the index of the call
        return views.call_many(fork, to, datas, sender, gas, check=True, threads=threads, verify=False)
    for row, answer in zip(rows, others, strict=True):
        answers[row] = answer
    return answers


def _on_processor(
    fork: ForkBlocks, to: bytes, datas: Sequence[bytes], sender: bytes, gas: int | None, threads: int | None
) -> list[bytes | None]:
    return views.call_many(fork, to, datas, sender, gas, check=False, threads=threads, verify=False)


def _differing_words(datas: Sequence[bytes]) -> dict[int, NDArray[np.uint8]]:
    """Words of calldata in which calls of one function differ, by their offsets; none if they are not of one kind."""
    size = len(datas[0])
    if size < 36 or (size - 4) % 32 or any(len(each) != size or each[:4] != datas[0][:4] for each in datas):
        return {}
    table = np.frombuffer(b"".join(datas), dtype=np.uint8).reshape(len(datas), size)
    words = table[:, 4:].reshape(len(datas), -1, 32)
    differing = np.flatnonzero((words != words[0]).any(axis=(0, 2)))
    return {4 + 32 * int(at): np.ascontiguousarray(words[:, at]) for at in differing}
