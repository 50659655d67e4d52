"""A snapshot file holds a world exactly, or is refused with the reason."""

from __future__ import annotations

import os
import pickle
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi._kernel import Evm, State
from mayavi.errors import MissingStateError, SnapshotCorrupt, SnapshotError, SnapshotFutureVersion, SnapshotTruncated
from mayavi.evm.contents import WorldContents
from mayavi.evm.fork import Fork
from mayavi.evm.snapshot import read_info, read_snapshot
from tests.evm.bytecode import BLOCK_HASH, LOAD, RETURN_42, STORE, initcode, word

ALICE, BOB = b"\xa1" * 20, b"\xb0" * 20

addresses = st.binary(min_size=20, max_size=20)
words = st.integers(0, 2**256 - 1)
accounts = st.dictionaries(
    addresses,
    st.tuples(words, st.integers(0, 2**64 - 1), st.binary(max_size=40), st.dictionaries(words, words, max_size=5)),
    max_size=6,
)


def world(facts: dict[bytes, tuple[int, int, bytes, dict[int, int]]], *, closed: bool) -> Evm:
    evm = Evm(10, "cancun", closed=closed)
    for address, (balance, nonce, code, slots) in facts.items():
        if code[:2] == b"\xef\x01":
            code = b"\x00" + code  # the mark of a delegation, which has exactly 23 bytes
        if closed:
            evm.set_balance(address, balance)
            evm.set_nonce(address, nonce)
            evm.set_code(address, code)
            for slot, value in slots.items():
                evm.set_storage(address, slot, value)
        else:
            evm.learn_account(address, balance, nonce, code)
            evm.learn_slots(address, slots)
    return evm


@given(accounts, st.booleans(), st.integers(0, 2**64 - 1))
def test_dump_load_dump_is_the_identity(
    facts: dict[bytes, tuple[int, int, bytes, dict[int, int]]], closed: bool, number: int
) -> None:
    evm = world(facts, closed=closed)
    evm.set_block(number=number, timestamp=7, base_fee=9, prevrandao=b"\x05" * 32, excess_blob_gas=11)
    dump = evm.dump()
    state = State.load(dump)
    assert state.dump() == dump
    assert Evm.from_state(state).dump() == dump
    assert evm.freeze().dump() == dump
    assert state.digest() == evm.digest()


@given(accounts)
def test_a_loaded_world_answers_like_the_one_dumped(facts: dict[bytes, tuple[int, int, bytes, dict[int, int]]]) -> None:
    loaded = Evm.from_state(State.load(world(facts, closed=False).dump()))
    for address, (balance, nonce, _, slots) in facts.items():
        assert (loaded.balance(address), loaded.nonce(address)) == (balance, nonce)
        for slot, value in slots.items():
            assert loaded.storage(address, slot) == value


@given(st.data())
def test_no_damage_to_the_dump_goes_unnoticed_or_crashes(data: st.DataObject) -> None:
    dump = world({ALICE: (5, 6, RETURN_42, {1: 2, 3: 4})}, closed=True).dump()
    at = data.draw(st.integers(0, len(dump) - 1))
    damaged = dump[:at] + bytes([data.draw(st.integers(0, 255).filter(lambda byte: byte != dump[at]))]) + dump[at + 1 :]
    try:
        state = State.load(damaged)
    except ValueError:
        return
    assert state.digest() != world({ALICE: (5, 6, RETURN_42, {1: 2, 3: 4})}, closed=True).digest()


def test_a_dump_that_is_not_canonical_is_refused() -> None:
    dump = world({ALICE: (5, 6, RETURN_42, {1: 2, 3: 4})}, closed=True).dump()
    slots = word(1) + word(2) + word(3) + word(4)
    assert slots in dump
    for wrong in (word(3) + word(4) + word(1) + word(2), word(1) + word(2) + word(1) + word(4)):
        with pytest.raises(ValueError, match="out of order"):
            State.load(dump.replace(slots, wrong))
    with pytest.raises(ValueError, match="bytes too many"):
        State.load(dump + b"\0")


@pytest.fixture
def fork() -> Fork:
    fork = Fork.empty()
    fork.set_block(number=19_000_000, timestamp=1_700_000_000)
    fork.create_at(b"\x11" * 20, initcode(STORE), sender=ALICE)
    fork.send(b"\x11" * 20, word(5) + word(55), sender=ALICE)
    fork.labels["Store"] = "0x" + "11" * 20
    return fork


def test_a_fork_comes_back_from_its_file(fork: Fork, tmp_path: Path) -> None:
    path = tmp_path / "world.mayavi"
    digest = fork.dump_snapshot(path)
    again = Fork.load_snapshot(path)
    assert digest == fork.digest() == again.digest()
    assert again.storage("0x" + "11" * 20, 5) == 55
    assert again.labels == fork.labels
    assert again.block == fork.block
    info = read_info(path)
    assert info.digest == digest
    assert info.metadata["block"] == 19_000_000
    assert again.dump_snapshot(tmp_path / "again") == digest
    assert (tmp_path / "again").read_bytes() == path.read_bytes(), "the file itself is deterministic"


def test_a_snapshot_of_a_partial_world_stays_partial(tmp_path: Path) -> None:
    evm = Evm(1, "shanghai", closed=False)
    evm.learn_account(ALICE, 0, 0, LOAD)
    evm.learn_slots(ALICE, {1: 0})
    Fork.from_state(evm.freeze(), labels={}, source={"kind": "rpc"}).dump_snapshot(tmp_path / "partial")
    again = Fork.load_snapshot(tmp_path / "partial")
    assert again.call(ALICE, word(1), sender=ALICE) == word(0)
    with pytest.raises(MissingStateError, match="slot 0x2 is not in this snapshot"):
        again.call(ALICE, word(2), sender=ALICE)


def partial_fork() -> Fork:
    """What a fork of a node knows without the node: two accounts, a slot, the hash of one block."""
    evm = Evm(1, "shanghai", closed=False)
    evm.learn_account(ALICE, 5, 0, LOAD)
    evm.learn_slots(ALICE, {1: 11})
    evm.learn_account(bytes(20), 0, 0, b"")
    evm.set_block(number=100)
    evm.learn_block_hash(99, b"\x99" * 32)
    return Fork.from_state(evm.freeze(), labels={}, source={"kind": "rpc", "chain_id": 1, "block": 100})


def dumped(fork: Fork, folder: Path) -> Fork:
    fork.dump_snapshot(folder / "world")
    return Fork.load_snapshot(folder / "world")


WAYS: dict[str, Callable[[Fork, Path], Fork]] = {
    "dumped": dumped,
    "dumped twice": lambda fork, folder: dumped(dumped(fork, folder), folder),
    "dumped with writes": lambda fork, folder: dumped(written(fork), folder),
    "pickled": lambda fork, folder: pickle.loads(pickle.dumps(fork)),
    "frozen": lambda fork, folder: fork.frozen(),
    "copied": lambda fork, folder: fork.copy(),
}


def written(fork: Fork) -> Fork:
    fork.set_balance(ALICE, 6)
    fork.set_storage(ALICE, 7, 77)
    return fork


@pytest.mark.parametrize("way", WAYS)
def test_what_a_partial_world_does_not_know_is_not_taken_for_nothing(way: str, tmp_path: Path) -> None:
    """An account, a slot or a block hash that was never read is missing: a closed world would say that it is empty."""
    again = WAYS[way](partial_fork(), tmp_path)
    assert again.storage(ALICE, 1) == 11
    for read in (
        lambda: again.balance(BOB),
        lambda: again.nonce(BOB),
        lambda: again.code(BOB),
        lambda: again.storage(BOB, 1),
        lambda: again.storage(ALICE, 2),
        lambda: again.call(BOB, b"\1", sender=ALICE),
        lambda: again.send(BOB, b"", sender=ALICE),
    ):
        with pytest.raises(MissingStateError):
            read()
    again.set_code(ALICE, BLOCK_HASH)
    assert again.call(ALICE, word(99), sender=ALICE) == b"\x99" * 32
    with pytest.raises(MissingStateError, match="98"):
        again.call(ALICE, word(98), sender=ALICE)
    assert not WorldContents.of(again.freeze().dump()).closed


@pytest.mark.parametrize("closed", [True, False])
def test_a_dump_says_whether_what_it_lacks_is_empty_or_unknown(closed: bool, tmp_path: Path) -> None:
    fork = Fork.from_state(world({ALICE: (5, 6, RETURN_42, {1: 2})}, closed=closed).freeze(), labels={}, source={})
    digest = fork.dump_snapshot(tmp_path / "world")
    contents = WorldContents.of_snapshot(tmp_path / "world")
    assert contents.closed is closed
    assert (contents.account(BOB) is None) is not closed
    other = Fork.from_state(world({ALICE: (5, 6, RETURN_42, {1: 2})}, closed=not closed).freeze(), labels={}, source={})
    assert other.digest() != digest


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="there is no snapshot at"):
        Fork.load_snapshot(tmp_path / "nothing")


def test_a_place_that_cannot_be_written_is_said(fork: Fork, tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="is a folder"):
        fork.dump_snapshot(tmp_path)
    with pytest.raises(SnapshotError, match="there is no folder"):
        fork.dump_snapshot(tmp_path / "nowhere" / "world")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SnapshotError, match="cannot be written"):
        fork.dump_snapshot(tmp_path / "file" / "below")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"PK\x03\x04 something else entirely", b"MAYAVI but not quite"):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(SnapshotCorrupt, match="not a Mayavi snapshot"):
            Fork.load_snapshot(tmp_path / "file")


def test_a_truncated_file_is_refused_at_any_length(fork: Fork, tmp_path: Path) -> None:
    fork.dump_snapshot(tmp_path / "whole")
    content = (tmp_path / "whole").read_bytes()
    for length in {8, 9, 30, 61, 62, 63, len(content) // 2, len(content) - 1}:
        (tmp_path / "part").write_bytes(content[:length])
        with pytest.raises(SnapshotTruncated):
            Fork.load_snapshot(tmp_path / "part")


def test_a_wrong_byte_anywhere_is_noticed(fork: Fork, tmp_path: Path) -> None:
    fork.dump_snapshot(tmp_path / "whole")
    content = (tmp_path / "whole").read_bytes()
    for at in range(len(content)):
        damaged = bytearray(content)
        damaged[at] ^= 0x20
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(SnapshotError):
            read_snapshot(tmp_path / "damaged")


def test_a_file_of_a_later_version_is_refused_with_the_way_out(fork: Fork, tmp_path: Path) -> None:
    fork.dump_snapshot(tmp_path / "whole")
    content = bytearray((tmp_path / "whole").read_bytes())
    content[8:10] = struct.pack(">H", 2)
    (tmp_path / "later").write_bytes(content)
    with pytest.raises(SnapshotFutureVersion, match="format 2, this Mayavi reads up to 1") as failure:
        Fork.load_snapshot(tmp_path / "later")
    assert "upgrade" in str(failure.value.hint)


_WRITER = """
import sys
from mayavi.evm.fork import Fork
fork = Fork.empty()
for slot in range(20_000):
    fork.set_storage(b"\\x11" * 20, slot, slot + 1)
print("ready", flush=True)
while True:
    fork.dump_snapshot(sys.argv[1])
"""


@pytest.mark.slow
def test_kill_9_while_writing_leaves_a_readable_file(fork: Fork, tmp_path: Path, repository: Path) -> None:
    path = tmp_path / "world"
    fork.dump_snapshot(path)
    for _ in range(5):
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, cwd=repository, text=True
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        deadline = 200_000
        while not list(tmp_path.glob(".world.*.part")) and deadline:
            deadline -= 1
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait(timeout=600)
        writer.stdout.close()
        Fork.load_snapshot(path)
