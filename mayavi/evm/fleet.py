"""`Fleet`: many independent copies of a world, stepped in one call.

    program = Program()
    amount = program.input("amount")
    repay = Template(pool, calldata, {36: amount}, sender=alice)     # byte 36 of the calldata is filled per row
    status, gas, _ = program.call(repay)
    program.output("status", status)

    fleet = Fleet(fork, rows=1024)
    result = fleet.run(program, amount=amounts, threads=2)
    result["status"].uint64()

The cost of resetting or copying a row grows with what the row wrote. Results do not depend on the number of threads.
A run is atomic: if a row misses state or gets an invalid input, no row changes. A fleet of a fork with a node fetches
missing state and runs again, on one thread; without a node, missing state raises an error that names it.

A program also computes with floats, whose bits are the same on every machine. A float is a word that holds its bits:

    price, risk = program.input_floats("seen", 2)                     # an array of two columns
    program.output_singles("observation", [program.float_log(price), program.float_clip(risk, 0.0, 2.0)])
    result.arrays["observation"]                                      # (rows, 2) floats of 32 bits
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi import _kernel
from mayavi._kernel import Program as Program
from mayavi._kernel import Template as Template
from mayavi._kernel import Word as Word
from mayavi.errors import MissingStateError, ReplayDiffers, UnknownName, UsageError
from mayavi.evm.fork import Fork
from mayavi.evm.path_cache import PathCache
from mayavi.evm.specialise import chosen_specialise, current
from mayavi.evm.units import as_integer
from mayavi.evm.words import Words as Words
from mayavi.evm.words import are_small
from mayavi.evm.words import to_words as to_words

SKIPPED, SUCCESS, REVERTED, HALTED, SHORT_OUTPUT, NO_CODE = range(6)
"""Statuses of a call in a row."""


class Outcome(Mapping[str, Words]):
    """Outputs of a program by name."""

    def __init__(
        self,
        program: Program,
        words: NDArray[np.uint8],
        floats: NDArray[np.float64],
        arrays: list[NDArray[Any]],
    ) -> None:
        self._program = program
        self.words = words
        """All outputs as (rows, outputs, 32) bytes."""
        self.floats = floats
        """All outputs as (rows, outputs) floats: rounded, for plots and observations only."""
        self.arrays = dict(zip(program.float_outputs, arrays, strict=True)) if arrays else {}
        """Arrays of floats by name: (rows, floats) each."""

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self._program.outputs)}

    def __getitem__(self, name: str) -> Words:
        return Words(self.words[:, self._column(name)])

    def status(self, name: str) -> NDArray[np.uint8]:
        """Call statuses in the output `name`, as small integers."""
        return self.floats[:, self._column(name)].astype(np.uint8)

    def _column(self, name: str) -> int:
        if name not in self._columns:
            raise UnknownName.of("output", name, self._columns, f"there are: {', '.join(self._columns)}")
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __repr__(self) -> str:
        return f"<Outcome of {len(self.words)} rows: {', '.join(self._columns)}>"

    def __len__(self) -> int:
        return len(self._columns)


class KeptRow:
    """Saved state of a row: its writes, without the world below."""

    __slots__ = ("_evm",)

    def __init__(self, evm: _kernel.Evm) -> None:
        self._evm = evm


class Fleet:
    """`rows` independent copies of the current state of `fork`; later changes of `fork` do not reach them.

    Each row holds a copy of what `fork` has written. `Fleet(fork.frozen(), rows)` avoids that for a fork without a
    node: a frozen world fetches nothing. `lacking` is the hint of the error for missing state.

    `specialise` says whether transactions are replayed where their path is known: `off`, `on`, or `check`, where every
    replay is also interpreted and a difference raises an error. Results are the same. The default is that of the run or
    training around, the environment variable `MAYAVI_SPECIALISE`, or `on`. `cache` holds paths that another process has
    recorded on the same world; `save_paths` writes them.
    """

    def __init__(
        self,
        fork: Fork,
        rows: int,
        *,
        lacking: str = "walk the path on a fork first, then freeze it",
        specialise: str | None = None,
        cache: PathCache | None = None,
    ) -> None:
        if rows < 1:
            raise UsageError(f"a fleet of {rows} rows does nothing", "give at least one row")
        self._origin, self._lacking = fork, lacking
        self.specialise = chosen_specialise(specialise)
        """Whether transactions are replayed: off, on or check."""
        self._fleet = _kernel.Fleet(fork._evm, rows, self.specialise)
        self._cache = cache
        if cache is not None and self.specialise != "off" and (kept := cache.read()) is not None:
            try:
                self._fleet.load_paths(kept)
            except ValueError as error:
                cache.warn(str(error))
        if (around := current()) is not None:
            around.watch(self, self._fleet)

    def __len__(self) -> int:
        return len(self._fleet)

    def seed_self_check(self, seed: int) -> None:
        """Let the replays that are also interpreted, a few in 100,000, follow from `seed`."""
        self._fleet.seed_self_check(seed)

    def run(
        self,
        program: Program,
        *,
        threads: int | None = None,
        only: Iterable[int] | NDArray[np.intp] | None = None,
        **inputs: Any,
    ) -> Outcome:
        """Run `program` on every row, with one array (or one integer for all rows) for each of its inputs.

        A float input takes an array (rows, floats), or (rows,) for one float.
        With `only`, row numbers in ascending order, the other rows stay as they are, and inputs and outcome have one
        entry for each named row. `threads` defaults to the cores of this process; results do not depend on it.
        """
        threads = len(os.sched_getaffinity(0)) if threads is None else threads
        if threads < 1:
            raise UsageError(f"{threads} threads do nothing", "give at least one thread")
        chosen = None if only is None else self._ascending(only)
        rows = len(self) if chosen is None else len(chosen)
        words = self._words(program, inputs, rows)
        floats = [_floats(name, inputs[name], rows, count) for name, count in program.float_inputs]
        try:
            if self._origin.fetches_missing:
                # Fetched state does not reach the copies of the world that threads have.
                outputs = self._origin._fetcher.run(lambda: self._run_collecting_misses(program, words, chosen, floats))
                return Outcome(program, *outputs)
            return Outcome(program, *self._fleet.run(program, words, threads, False, chosen, floats))
        except _kernel.MissingState as error:
            notes = " ".join(getattr(error, "__notes__", []))
            raise MissingStateError(f"{error.args[0]} ({notes})", self._lacking) from None
        except _kernel.InvalidTransaction as error:
            raise UsageError(f"{error.args[0]} ({' '.join(getattr(error, '__notes__', []))})") from None
        except ReplayDiffers:
            self.save_paths()  # later processes must not take up what is refused now
            raise

    def _run_collecting_misses(
        self, program: Program, words: NDArray[np.uint8], chosen: list[int] | None, floats: list[NDArray[np.float64]]
    ) -> tuple[NDArray[np.uint8], NDArray[np.float64], list[NDArray[Any]]]:
        """Run and report the missing state of all rows together, so that the node is asked in batches."""
        try:
            return self._fleet.run(program, words, 1, True, chosen, floats)
        except _kernel.InvalidTransaction as error:
            raise UsageError(f"{error.args[0]} ({' '.join(getattr(error, '__notes__', []))})") from None

    def reset(self, rows: Iterable[int] | NDArray[np.intp] | None = None) -> None:
        """Reset rows to their initial state; all of them by default."""
        self._fleet.reset(None if rows is None else self._numbers(rows))

    def copy_row(self, source: int, to: int) -> None:
        """Copy the state of row `source` to row `to`."""
        self._fleet.copy_row(self._row(source), self._row(to))

    def set_row(self, row: int, fork: Fork) -> None:
        """Set a row to the state of `fork`, which must be a copy over the same world."""
        try:
            self._fleet.set_row(self._row(row), fork._evm)
        except ValueError as error:
            raise UsageError(str(error), "use a copy of this fleet's own fork: `fleet.fork(row)`") from None

    def keep(self, row: int) -> KeptRow:
        """Save the current state of a row, for `put`."""
        return KeptRow(self._fleet.evm(self._row(row)))

    def put(self, row: int, kept: KeptRow) -> None:
        """Restore a saved state to a row."""
        self._fleet.set_row(self._row(row), kept._evm)

    def identities(self, rows: Iterable[int] | None = None) -> list[bytes]:
        """Hash of the full state of each row: equal states have equal hashes.

        Covers the block and everything that differs from the fleet's world. The cost grows with what the row wrote.
        """
        chosen = range(len(self)) if rows is None else [self._row(row) for row in rows]
        return [each.tobytes() for each in self._fleet.identities(list(chosen))]

    def fork(self, row: int) -> Fork:
        """`Fork` with the state of a row, for inspection."""
        evm, origin = self._fleet.evm(self._row(row)), self._origin
        evm.probe = origin.fetches_missing
        return Fork._of(evm, origin._fetcher.remote, dict(origin.labels), dict(origin.source))

    def _row(self, row: int) -> int:
        number = as_integer(row)
        if not 0 <= number < len(self):
            raise UsageError(f"row {number} is not one of {len(self)}", f"rows are 0 … {len(self) - 1}")
        return number

    def statistics(self) -> list[dict[str, Any]]:
        """Counts of each call site: calls, hits, paths, and misses by the guard that failed. Empty if `off`."""
        return self._fleet.statistics()

    def program_statistics(self) -> list[dict[str, Any]]:
        """Counts of each program whose rows may be replayed as a whole; `off` says why one is not. Empty if `off`."""
        return self._fleet.program_statistics()

    def paths(self, selector: bytes | None = None) -> list[dict[str, Any]]:
        """Recorded paths of each call site, of one selector if it is given: sizes, writes, guards and their sources."""
        return self._fleet.paths(selector)

    def finish_compiling(self) -> None:
        """Wait until the paths that were taken often are machine code. Steps never wait for that."""
        self._fleet.finish_compiling()

    def save_paths(self) -> int | None:
        """Keep the recorded paths for the next process on this world; bytes of the file, None if none was written."""
        kept = None if self._cache is None else self._fleet.save_paths()
        return None if kept is None or self._cache is None else self._cache.write(kept)

    def memory(self) -> list[int]:
        """Bytes held by each row."""
        return self._fleet.memory()

    def _numbers(self, rows: Iterable[int] | NDArray[np.intp]) -> list[int]:
        """Validated row numbers; an array, the usual case, is validated as a whole."""
        if not isinstance(rows, np.ndarray) or rows.dtype.kind not in "iu" or not rows.size:
            return [self._row(row) for row in rows]
        self._row(rows.min()), self._row(rows.max())
        numbers: list[int] = rows.tolist()
        return numbers

    def _ascending(self, rows: Iterable[int] | NDArray[np.intp]) -> list[int]:
        chosen = self._numbers(rows)
        if not chosen or any(map(operator.ge, chosen, islice(chosen, 1, None))):
            raise UsageError("the rows to run are not in ascending order", "name each once, and one at least")
        return chosen

    def _words(self, program: Program, inputs: dict[str, Any], rows: int) -> NDArray[np.uint8]:
        names = program.inputs
        known = [*names, *(name for name, _ in program.float_inputs)]
        if inputs.keys() == set(known):
            columns = _kernel.columns_to_words([inputs[name] for name in names], rows)
            if columns is not None:  # the usual case
                return columns
        for name in inputs:
            if name not in known:
                raise UnknownName.of("input", name, known, f"the program takes: {', '.join(known) or 'none'}")
        missing = [name for name in known if name not in inputs]
        if missing:
            raise UsageError(f"input '{missing[0]}' is not given", f"the program takes: {', '.join(known)}")
        words = np.zeros((rows, len(names), 32), dtype=np.uint8)
        lowest = words.view(">u8")[:, :, 3]
        for column, name in enumerate(names):
            values = inputs[name]
            if are_small(values, rows):
                lowest[:, column] = values  # the usual case, without the detour through `to_words`
            else:
                words[:, column] = to_words(values, rows, name)
        return words


def _floats(name: str, values: Any, rows: int, count: int) -> NDArray[np.float64]:
    """`values` as an array (rows, count); `UsageError` if they are not numbers or have another shape."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if count == 1 and found.shape == (rows,):
        return found[:, None]
    if found.shape != (rows, count):
        raise UsageError(f"input '{name}' is not an array of floats ({rows}, {count})", "give a number for each column")
    return found
