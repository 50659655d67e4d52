"""The kernel remembers hashes of two words: nothing but the time of a call may show it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mayavi._kernel import Evm, Receipt, keccak256
from mayavi.evm.fleet import SUCCESS, Fleet, Program, Template
from mayavi.evm.fork import Fork
from tests.evm.assembler import assemble
from tests.evm.bytecode import initcode, word

HASHER, ALICE = b"\x41" * 20, b"\xa1" * 20
# Calldata: where to begin in memory, how many bytes to hash, what to put into memory.
SOURCE = "64 CALLDATASIZE SUB 64 0 CALLDATACOPY 32 CALLDATALOAD 0 CALLDATALOAD KECCAK256 0 MSTORE 32 0 RETURN"


@pytest.fixture(scope="module")
def fork() -> Fork:
    fork = Fork.empty()
    fork.create_at(HASHER, initcode(assemble(SOURCE)), sender=ALICE)
    return Fork.from_state(fork.freeze(), labels={}, source={})


@pytest.fixture(scope="module")
def evm(fork: Fork) -> Evm:
    return Evm.from_state(fork.freeze())


lengths = st.one_of(st.sampled_from([0, 32, 63, 64, 65, 96, 2**255]), st.integers(0, 200))
offsets = st.one_of(st.sampled_from([0, 32, 64, 2**64 - 32, 2**256 - 1]), st.integers(0, 200))


@given(st.binary(max_size=160), offsets, lengths, st.integers(1, 120))
@example(bytes(64), 0, 64, 1)
@example(bytes(64), 1, 64, 1)  # memory is not all there yet
@example(bytes(64), 2**64 - 32, 64, 1)  # the end does not fit into 64 bits
@example(b"", 2**256 - 1, 0, 1)
def test_hash_gas_and_failure_are_those_of_the_plain_instruction(
    evm: Evm, data: bytes, offset: int, length: int, short_by: int
) -> None:
    calldata = word(offset) + word(length) + data
    ample = 10**6
    # A traced call runs on an interpreter that remembers nothing.
    plain, _ = evm.trace(HASHER, calldata, ALICE, gas=ample)
    if plain.success:
        hashed = data.ljust(offset + length, b"\0")[offset : offset + length] if length else b""
        assert plain.output == keccak256(hashed)
    at_the_door = 21_000 + sum(16 if byte else 4 for byte in calldata)
    for gas in (ample, plain.gas_used, max(plain.gas_used - short_by, at_the_door)):
        plain, _ = evm.trace(HASHER, calldata, ALICE, gas=gas)
        for _ in range(2):
            assert told(evm.copy().transact(HASHER, calldata, ALICE, gas=gas)) == told(plain)


def told(receipt: Receipt) -> tuple[bool, bytes, int, str]:
    return receipt.success, receipt.output, receipt.gas_used, receipt.reason


def test_many_more_hashes_than_are_remembered_are_all_right(fork: Fork) -> None:
    rows = 5_000
    program = Program()
    key, slot = program.input("key"), program.input("slot")
    template = Template(HASHER, word(0) + word(64) + bytes(64), {64: key, 96: slot})
    for name in ("first", "again"):
        status, _, words = program.call(template, returns=1, commit=False)
        program.output(f"{name} status", status)
        program.output(name, words[0])
    keys, slots = list(range(rows)), [row % 60 for row in range(rows)]
    expected = [int.from_bytes(keccak256(word(key) + word(slot)), "big") for key, slot in zip(keys, slots, strict=True)]
    fleet = Fleet(fork, rows)
    for threads in (1, 2):
        result = fleet.run(program, key=keys, slot=slots, threads=threads)
        assert set(result["first status"].ints()) == set(result["again status"].ints()) == {SUCCESS}
        assert result["first"].ints() == result["again"].ints() == expected
