"""Batches of calls to one contract in one kernel call: `Fork.call_many` and `Fork.call_words`.

The state does not change during a batch, so the kernel runs the calls on all cores and shares between them everything
that does not depend on their calldata. Outputs equal those of `Fork.call`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError
from mayavi.evm import failures
from mayavi.evm.arguments import to_bytes, u64
from mayavi.evm.fork.state import ForkState
from mayavi.evm.words import Words, to_words

if TYPE_CHECKING:
    from mayavi import _kernel

Failed = list[tuple[int, "_kernel.Reverted | _kernel.Halted"]]


def call_many(
    fork: ForkState,
    to: bytes,
    datas: Sequence[bytes],
    sender: bytes,
    gas: int | None,
    *,
    check: bool,
    threads: int | None,
    verify: bool,
) -> list[bytes | None]:
    """Output of each call; `None` for a failed one if `check` is false."""
    if isinstance(datas, bytes | bytearray | memoryview):
        raise UsageError("one calldata was given where many are called", "give a list of them, or use `call`")
    calls = [data if type(data) is bytes else to_bytes(data) for data in datas]
    gas, cores = _limits(gas, fork.threads if threads is None else threads)
    if not calls:
        return []

    def run() -> tuple[list[bytes | None], Failed, dict[str, int]]:
        return fork._evm.call_many(to, calls, sender, gas, cores, verify)

    outputs, failed, _ = fork._fetcher.run(run, (to, calls[0], sender, 0))
    if check:
        _raise_first(fork, to, failed, len(calls), calls.__getitem__)
    if any(output == b"" and data for output, data in zip(outputs, calls, strict=True)):
        fork._require_code(to, "call of")
    return outputs


def call_words(
    fork: ForkState,
    to: bytes,
    data: bytes,
    holes: Mapping[int, Any],
    returns: int,
    sender: bytes,
    gas: int | None,
    *,
    check: bool,
    threads: int | None,
    verify: bool,
) -> list[Words]:
    """First words of each call's output, as columns."""
    template, count = to_bytes(data), u64(returns, "number of words")
    gas, cores = _limits(gas, fork.threads if threads is None else threads)
    offsets, rows, words = filled(template, holes)
    if not rows:
        return [Words(np.zeros((0, 32), dtype=np.uint8)) for _ in range(count)]

    def calldata(row: int) -> bytes:
        filled = bytearray(template)
        for column, offset in enumerate(offsets):
            filled[offset : offset + 32] = words[row, column].tobytes()
        return bytes(filled)

    outputs, failed, short, _ = fork._fetcher.run(
        lambda: fork._evm.call_words(to, template, offsets, words, count, sender, gas, cores, verify),
        (to, calldata(0), sender, 0) if fork.fetches_missing else None,
    )
    if check:
        _raise_first(fork, to, failed, rows, calldata)
    if short:
        index, length = short[0]
        if not length and template:
            fork._require_code(to, "call of")
        raise UsageError(f"call {index} of {rows} of {fork.name(to)} returns {length} bytes, not {count} words")
    return [Words(outputs[:, column]) for column in range(count)]


def columns_of(outputs: Sequence[bytes], returns: int) -> list[Words] | None:
    """First words of outputs, as columns; None if one is too short."""
    size = 32 * returns
    if any(len(output) < size for output in outputs):
        return None
    raw = b"".join([output[:size] for output in outputs])
    words = np.frombuffer(raw, dtype=np.uint8).reshape(len(outputs), returns, 32)
    return [Words(words[:, column]) for column in range(returns)]


def filled(template: bytes, holes: Mapping[int, Any]) -> tuple[list[int], int, NDArray[np.uint8]]:
    """Return the offsets of the holes, the number of calls, and the words of each call."""
    offsets = _offsets(holes, len(template))
    rows = _rows(holes)
    if len(offsets) == 1:
        only = to_words(holes[offsets[0]], rows, f"byte {offsets[0]}")
        return offsets, rows, np.ascontiguousarray(only).reshape(rows, 1, 32)
    words = np.zeros((rows, len(offsets), 32), dtype=np.uint8)
    for column, offset in enumerate(offsets):
        words[:, column] = to_words(holes[offset], rows, f"byte {offset}")
    return offsets, rows, words


def _limits(gas: int | None, threads: int | None) -> tuple[int | None, int]:
    cores = len(os.sched_getaffinity(0)) if threads is None else threads
    if cores < 1:
        raise UsageError(f"{cores} threads do nothing", "give at least one thread")
    return None if gas is None else u64(gas, "gas"), cores


def _raise_first(fork: ForkState, to: bytes, failed: Failed, count: int, calldata: Callable[[int], bytes]) -> None:
    if failed:
        index, error = failed[0]
        where = f"call {index} of {count} of {fork.name(to)}"
        raise failures.located(failures.explained(error), where, calldata(index)) from None


def _offsets(holes: Mapping[int, Any], length: int) -> list[int]:
    offsets = sorted(u64(offset, "offset") for offset in holes)
    for offset, following in zip(offsets, [*offsets[1:], length], strict=True):
        if offset + 32 > following:
            what = "the next hole" if following != length else f"the end of {length} bytes of calldata"
            raise UsageError(f"a hole at byte {offset} runs over {what}", "a hole is 32 bytes wide")
    return offsets


def _rows(holes: Mapping[int, Any]) -> int:
    for column in holes.values():
        if not isinstance(column, str | bytes) and hasattr(column, "__len__"):
            return len(column)
    raise UsageError("no column gives the number of calls", "give one value for each call at one offset at least")
