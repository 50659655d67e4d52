"""`call_many` and `call_words`: arguments, columns, failures, and state that is fetched for all calls together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mayavi import Fork
from mayavi.errors import BadInteger, CallHalted, CallReverted, MissingStateError, NoCode, UsageError
from mayavi.evm.specialise import specialised
from tests.evm.assembler import assemble, returning
from tests.evm.bytecode import LOAD, word
from tests.evm.fork.view_batches import CONTRACT, TOP, X, Y, Z, fork_with, values
from tests.evm.rpc.scripted_node import POOL, ScriptedNode, scripted_node


def test_nothing_is_called_where_nothing_is_given() -> None:
    fork = fork_with(LOAD)
    assert fork.call_many(CONTRACT, []) == []
    assert [len(column) for column in fork.call_words(CONTRACT, bytes(32), {0: []}, 2)] == [0, 0]


def test_one_call_is_enough() -> None:
    fork = fork_with(LOAD)
    fork.set_storage(CONTRACT, 7, 42)
    assert fork.call_many(CONTRACT, [word(7)]) == [word(42)]


def test_names_and_numpy_rows_are_taken() -> None:
    fork = fork_with(LOAD)
    fork.labels["Store"] = "0xC0de000000000000000000000000000000000001"
    fork.set_storage("Store", 5, 2**255)
    (column,) = fork.call_words("Store", bytes(32), {0: np.arange(100)}, 1, threads=2)
    assert column.ints() == [2**255 if row == 5 else 0 for row in range(100)]


def test_columns_of_words_are_the_outputs_of_the_calls() -> None:
    fork = fork_with(assemble(f"{X} {Y} MUL 0 MSTORE {X} {Y} XOR 32 MSTORE {Z} 64 MSTORE 96 0 RETURN"))
    x, y = values(300, 1), values(300, 2)
    template = word(1) + word(2) + word(3)
    columns = fork.call_words(CONTRACT, template, {0: x, 32: y}, 3)
    assert [column.ints() for column in columns] == [
        [a * b & TOP for a, b in zip(x, y, strict=True)],
        [a ^ b for a, b in zip(x, y, strict=True)],
        [3] * 300,
    ]
    first = fork.call_words(CONTRACT, template, {0: x, 32: 5}, 1)[0]
    assert first.ints() == [5 * a & TOP for a in x]


def test_failed_rows_hold_zeros_where_that_is_asked_for() -> None:
    fork = fork_with(assemble(f"{X} 1 AND @odd JUMPI 0 0 REVERT :odd {X} 0 MSTORE 32 0 RETURN"))
    (column,) = fork.call_words(CONTRACT, bytes(32), {0: range(100)}, 1, check=False)
    assert column.ints() == [n if n % 2 else 0 for n in range(100)]
    with pytest.raises(CallReverted, match="call 0 of 100"):
        fork.call_words(CONTRACT, bytes(32), {0: range(100)}, 1)


def test_a_few_accounts_are_read_like_many() -> None:
    fork = fork_with(
        assemble(f"{Y} 5 EQ @bad JUMPI {X} {Y} {Z} ADD ADD 0 MSTORE {Y} 32 MSTORE 64 0 RETURN :bad 0 0 REVERT")
    )
    template = word(1) + word(TOP) + word(3)
    for count in (1, 2, 6, 7, 40):
        accounts = [number.to_bytes(20, "big") for number in range(6, 6 + count)]
        sums, same = fork.call_words(CONTRACT, template, {32: accounts}, 2)
        assert (sums.ints(), same.ints()) == ([4 + at for at in range(6, 6 + count)], list(range(6, 6 + count)))
    bad = [number.to_bytes(20, "big") for number in (4, 5)]
    with pytest.raises(CallReverted, match="call 1 of 2"):
        fork.call_words(CONTRACT, template, {32: bad}, 1)
    assert fork.call_words(CONTRACT, template, {32: bad}, 1, check=False)[0].ints() == [8, 0]
    with pytest.raises(UsageError, match="returns 64 bytes"):
        fork.call_words(CONTRACT, template, {32: bad[:1]}, 3)


def test_a_call_that_halts_is_named() -> None:
    fork = fork_with(assemble(f"{X} 60 EQ @bad JUMPI STOP :bad INVALID"))
    with pytest.raises(CallHalted, match="call 60 of 100"):
        fork.call_many(CONTRACT, [word(n) for n in range(100)])


def test_calls_where_no_contract_stands_are_refused() -> None:
    fork = Fork.empty()
    with pytest.raises(NoCode):
        fork.call_many(CONTRACT, [word(1), word(2)])
    with pytest.raises(NoCode):
        fork.call_words(CONTRACT, bytes(32), {0: [1, 2]}, 1)
    assert fork.call_many(CONTRACT, [b""]) == [b""]


def test_mistakes_are_named() -> None:
    fork = fork_with(LOAD)
    with pytest.raises(UsageError, match="one calldata was given"):
        fork.call_many(CONTRACT, word(1))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="calldata must be bytes, not str"):
        fork.call_many(CONTRACT, ["0x00"])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="0 threads"):
        fork.call_many(CONTRACT, [word(1)], threads=0)
    with pytest.raises(UsageError, match="returns 32 bytes, not 2 words"):
        fork.call_words(CONTRACT, bytes(32), {0: [1]}, 2)
    with pytest.raises(UsageError, match="a hole at byte 1 runs over the end of 32 bytes"):
        fork.call_words(CONTRACT, bytes(32), {1: [1]}, 1)
    with pytest.raises(UsageError, match="a hole at byte 0 runs over the next hole"):
        fork.call_words(CONTRACT, bytes(64), {0: [1], 31: [1]}, 1)
    with pytest.raises(UsageError, match="no column gives the number"):
        fork.call_words(CONTRACT, bytes(32), {0: 5}, 1)
    with pytest.raises(BadInteger):
        fork.call_words(CONTRACT, bytes(32), {0: [-1]}, 1)
    with pytest.raises(UsageError, match="2 values for 3 rows"):
        fork.call_words(CONTRACT, bytes(64), {0: [1, 2, 3], 32: [1, 2]}, 1)


def test_what_was_written_and_open_snapshots_survive_a_batch() -> None:
    fork = fork_with(LOAD)
    fork.set_storage(CONTRACT, 1, 1)
    with fork.snapshot():
        fork.set_storage(CONTRACT, 1, 2)
        assert set(fork.call_many(CONTRACT, [word(1)] * 100, threads=2)) == {word(2)}
    assert fork.storage(CONTRACT, 1) == 1
    assert set(fork.call_many(CONTRACT, [word(1)] * 100)) == {word(1)}


@pytest.fixture
def node() -> Iterator[ScriptedNode]:
    """A node with a contract that sums two of its slots, and calls another."""
    with scripted_node() as running:
        running.accounts[f"0x{POOL.hex()}"] = (0, 1, returning(f"{X} SLOAD DUP1 3 MUL SLOAD ADD"))
        code = f"{X} 0 MSTORE 32 0 32 0 0x{POOL.hex()} GAS STATICCALL {X} BALANCE ADD 32 MSTORE 64 0 RETURN"
        running.accounts[f"0x{CONTRACT.hex()}"] = (0, 1, assemble(code))
        yield running


def test_what_all_calls_lack_is_fetched_together(node: ScriptedNode, tmp_path: Path) -> None:
    fork = Fork.from_rpc(node.url, 20, cache_dir=tmp_path)
    opened = fork.requests
    datas = [word(n) for n in range(0, 1_000, 3)]
    outputs = fork.call_many(CONTRACT, datas)
    assert outputs == [word(3 * (n * 1000 + 1) * 1000 + 1 + n * 1000 + 1 if 3 * (n * 1000 + 1) < 2000 else n * 1000 + 1)
                       + word(1) for n in range(0, 1_000, 3)]  # fmt: skip
    assert fork.requests - opened < 60
    asked = fork.requests
    assert fork.call_many(CONTRACT, datas, threads=2, verify=True) == outputs
    assert fork.requests == asked
    assert [fork.call(CONTRACT, data) for data in datas] == outputs


def test_what_nobody_can_fetch_is_named(node: ScriptedNode, tmp_path: Path) -> None:
    fork = Fork.from_rpc(node.url, 20, cache_dir=tmp_path)
    known = [word(n) for n in range(100)]
    outputs = fork.call_many(CONTRACT, known)
    path = tmp_path / "some.snapshot"
    fork.dump_snapshot(path)
    alone = Fork.load_snapshot(path)
    assert alone.call_many(CONTRACT, known) == outputs
    with pytest.raises(MissingStateError, match="slot 0x100 is not in this snapshot"):
        alone.call_many(POOL, [*known, word(256)])


def test_a_failed_question_is_answered_by_none() -> None:
    fork = fork_with(assemble("0 0 REVERT"))
    assert fork.call_if_any(CONTRACT, word(1)) is None
    assert fork_with(assemble("INVALID")).call_if_any(CONTRACT, word(1)) is None
    assert fork_with(LOAD).call_if_any(CONTRACT, word(1)) == word(0)
    assert fork_with(assemble("STOP")).call_if_any(CONTRACT, word(1)) == b""
    with pytest.raises(NoCode):
        fork.call_if_any(b"\x77" * 20, word(1))


def test_few_calls_within_a_run_are_those_of_a_batch() -> None:
    fork = fork_with(assemble(f"{X} 7 EQ @bad JUMPI {X} SLOAD 0 MSTORE 32 0 RETURN :bad 0 0 REVERT"))
    fork.set_storage(CONTRACT, 3, 42)
    with specialised("on") as work:
        fork.read_within(work, seed=1)
        assert fork.call_many(CONTRACT, [word(3), word(4)]) == [word(42), word(0)]
        assert fork.call_many(CONTRACT, [word(7), word(3)], check=False) == [None, word(42)]
        with pytest.raises(CallReverted, match="call 1 of 2"):
            fork.call_many(CONTRACT, [word(3), word(7)])
        with pytest.raises(UsageError, match="0 threads"):
            fork.call_many(CONTRACT, [word(3)], threads=0)
