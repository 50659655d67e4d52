"""Batches of views with branches, loops, memory and calls: each output is that of a single call."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi import Fork
from mayavi.errors import CallReverted
from mayavi.evm.hashing import keccak256
from tests.evm.assembler import assemble, returning
from tests.evm.bytecode import word
from tests.evm.fork.view_batches import (
    CALLS,
    CONTRACT,
    LIBRARY,
    OTHER,
    TOP,
    X,
    Y,
    calldata,
    fork_with,
    one_by_one,
    same,
)


def test_a_branch_is_recorded_once_for_each_way() -> None:
    code = assemble(f"{X} 1 AND @odd JUMPI {X} 3 MUL 0 MSTORE 32 0 RETURN :odd {X} 7 ADD 0 MSTORE 32 0 RETURN")
    effort = same(fork_with(code), calldata(1))
    assert effort["traces"] == 2
    assert effort["replayed"] == CALLS - 2


def test_with_off_every_call_of_a_batch_is_interpreted() -> None:
    fork, datas = fork_with(returning(f"{X} 3 MUL")), calldata(1)
    for mode in ("off", "on", "check"):
        fork.specialise = mode
        replayed = fork._evm.call_many(CONTRACT, datas, None, None, 1, False)[2]["replayed"]
        assert replayed == 0 if mode == "off" else replayed > CALLS // 2
        columns = np.frombuffer(b"".join(datas), np.uint8).reshape(CALLS, 1, 32)
        words, _, _, effort = fork._evm.call_words(CONTRACT, bytes(32), [0], columns, 1)
        assert [bytes(each[0]) for each in words] == one_by_one(fork, datas, None)
        assert effort["replayed"] == 0 if mode == "off" else effort["replayed"] > CALLS // 2


def test_a_loop_turns_as_often_as_the_calldata_says() -> None:
    loop = f"0 {X} 7 AND :next DUP1 ISZERO @end JUMPI DUP1 DUP1 MUL {Y} XOR DUP3 ADD SWAP2 POP 1 SWAP1 SUB @next JUMP"
    code = assemble(f"{loop} :end POP 0 MSTORE 32 0 RETURN")
    effort = same(fork_with(code), calldata(2))
    assert effort["traces"] == 8


def test_a_computed_jump_goes_where_it_goes() -> None:
    # Three landing places of seven bytes each; the fourth is the way out, where an operand is missing then.
    places = " ".join(f":p{n} {n + 10} @out JUMP" for n in range(3))
    code = assemble(f"{X} 3 AND 7 MUL @p0 ADD JUMP {places} :out {Y} ADD 0 MSTORE 32 0 RETURN")
    effort = same(fork_with(code), calldata(2))
    assert effort["replayed"] > CALLS // 2


def test_calls_that_revert_stay_the_interpreters() -> None:
    code = assemble(f"{X} 3 AND @fine JUMPI {Y} 0 MSTORE 32 0 REVERT :fine {Y} 0 MSTORE 32 0 RETURN")
    fork = fork_with(code)
    datas = calldata(2)
    effort = same(fork, datas)
    assert 0 < effort["replayed"] < CALLS
    failing = next(i for i, output in enumerate(one_by_one(fork, datas, None)) if output is None)
    with pytest.raises(CallReverted, match=f"call {failing} of {CALLS} of 0xC0de") as caught:
        fork.call_many(CONTRACT, datas)
    assert caught.value.output == datas[failing][32:]


@pytest.mark.slow(0.5)
def test_every_path_may_be_new() -> None:
    # A different path for nearly every call: recordings stop paying, and stop.
    code = returning(f"{X} 65535 AND :next DUP1 3 LT ISZERO @end JUMPI 3 SWAP1 SUB @next JUMP :end")
    datas = [word(n * 11) for n in range(400)]
    effort = same(fork_with(code), datas)
    assert effort["traces"] < 200


def test_bytes_of_several_words_mixed_in_memory() -> None:
    mixed = f"{X} 0 MSTORE {Y} 5 MSTORE {X} 9 MSTORE8 {TOP} 11 MSTORE8 {Y} 64 MSTORE {X} 65 MSTORE"
    for at in (0, 1, 3, 5, 8, 20, 40, 63, 64, 65, 90):
        assert same(fork_with(returning(f"{mixed} {at} MLOAD")), calldata(2, 64))["replayed"] > 60
    assert same(fork_with(assemble(f"{mixed} 97 3 RETURN")), calldata(2, 64))["replayed"] > 60
    copied = f"{mixed} 50 2 7 MCOPY 33 70 1 MCOPY 0 300 10 MCOPY 150 0 RETURN"
    assert same(fork_with(assemble(copied)), calldata(2, 64))["replayed"] > 60


def test_memory_at_a_place_the_calldata_names() -> None:
    code = assemble(f"{Y} {X} 63 AND MSTORE {X} 63 AND 3 ADD MLOAD 200 MSTORE 232 0 RETURN")
    same(fork_with(code), calldata(2, 400))


def test_hashes_and_mappings() -> None:
    slot = f"{X} 15 AND 0 MSTORE 5 32 MSTORE 64 0 KECCAK256"
    fork = fork_with(returning(f"{slot} SLOAD {slot} 1 ADD SLOAD MUL {X} 0 MSTORE 3 29 KECCAK256 XOR"))
    for key in range(0, 16, 2):
        place = int.from_bytes(keccak256(word(key) + word(5)), "big")
        fork.set_storage(CONTRACT, place, key * 10**18 + 1)
        fork.set_storage(CONTRACT, place + 1, 2**200 + key)
    effort = same(fork, calldata(1))
    assert effort["traces"] == 1
    same(fork.frozen(), calldata(1))


def test_calls_within_calls_hand_their_data_on() -> None:
    fork = Fork.empty(hardfork="cancun")
    fork.set_code(LIBRARY, assemble(f"{Y} {X} MUL 32 MSTORE {X} SLOAD 64 MSTORE CALLER 0 MSTORE 96 0 RETURN"))
    for kind, value in (("STATICCALL", ""), ("DELEGATECALL", ""), ("CALL", "0"), ("CALLCODE", "0")):
        call = f"64 0 0 CALLDATACOPY 40 200 64 0 {value} 0x{LIBRARY.hex()} GAS {kind} 100 MSTORE"
        back = "3 RETURNDATASIZE SUB 3 0 RETURNDATACOPY RETURNDATASIZE 150 MSTORE 300 0 RETURN"
        fork.set_code(CONTRACT, assemble(f"{call} {back}"))
        fork.set_storage(CONTRACT, 1, 11)
        fork.set_storage(LIBRARY, 1, 22)
        assert same(fork, calldata(2))["replayed"] > CALLS - 3


def test_the_callee_may_depend_on_the_calldata() -> None:
    fork = Fork.empty(hardfork="cancun")
    fork.set_code(LIBRARY, returning("1"))
    fork.set_code(OTHER, assemble("2 0 MSTORE 32 0 REVERT"))
    base = int.from_bytes(LIBRARY, "big") - 1
    call = f"32 0 0 0 {X} 3 AND {base} ADD GAS STATICCALL 32 MSTORE"
    fork.set_code(CONTRACT, assemble(f"{call} RETURNDATASIZE 64 MSTORE {Y} 96 MSTORE 128 0 RETURN"))
    # The lowest of the four is the contract itself: it calls itself until gas or depth end it.
    effort = same(fork, calldata(2))
    assert effort["replayed"] > CALLS // 4


def test_a_failure_inside_is_caught_as_the_code_does() -> None:
    fork = Fork.empty(hardfork="cancun")
    fork.set_code(
        LIBRARY, assemble(f"{X} 3 AND @fine JUMPI {X} 0 MSTORE 32 0 REVERT :fine {X} 1 AND @ok JUMPI INVALID :ok")
    )
    call = f"{X} 0 MSTORE 32 32 32 0 0x{LIBRARY.hex()} 50000 STATICCALL 64 MSTORE"
    fork.set_code(CONTRACT, assemble(f"{call} RETURNDATASIZE 96 MSTORE 128 0 RETURN"))
    assert same(fork, calldata(1))["replayed"] > CALLS // 3


def test_precompiles() -> None:
    for number in range(1, 6):
        call = f"128 0 0 CALLDATACOPY 64 200 96 0 0x{number:040x} GAS STATICCALL 128 MSTORE"
        same(fork_with(assemble(f"{call} RETURNDATASIZE 160 MSTORE 300 0 RETURN")), calldata(3, 64))
    # The same data in every call: nothing of it depends on the calldata.
    call = f"7 0 MSTORE 32 32 32 0 0x{2:040x} GAS STATICCALL {X} ADD"
    assert same(fork_with(assemble(f"{call} 0 MSTORE 64 0 RETURN")), calldata(1, 64))["replayed"] > 60
    # What is copied by the identity precompile is still followed.
    call = f"64 0 0 CALLDATACOPY 64 96 50 3 0x{4:040x} GAS STATICCALL POP 160 0 RETURN"
    assert same(fork_with(assemble(call)), calldata(2, 64))["replayed"] > 60
