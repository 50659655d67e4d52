"""Batches of views: whatever a contract does, every output is the one that a call of its own gives."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayavi import Fork
from mayavi.errors import (
    BadInteger,
    CallHalted,
    CallReverted,
    ExecutionError,
    MissingStateError,
    NoCode,
    TransactionInvalid,
    UsageError,
)
from mayavi.evm.hashing import keccak256
from tests.evm.assembler import assemble, returning
from tests.evm.bytecode import LOAD, word
from tests.evm.rpc.scripted_node import POOL, ScriptedNode, scripted_node

CONTRACT = bytes.fromhex("c0de000000000000000000000000000000000001")
LIBRARY = bytes.fromhex("c0de000000000000000000000000000000000002")
OTHER = bytes.fromhex("c0de000000000000000000000000000000000003")
SENDER = bytes.fromhex("5e0de20000000000000000000000000000000001")
X, Y, Z = "0 CALLDATALOAD", "32 CALLDATALOAD", "64 CALLDATALOAD"
TOP = 2**256 - 1
HOSTILE = [0, 1, 2, 3, 7, 8, 31, 32, 33, 64, 127, 128, 255, 256, 257, 2**64 - 1, 2**64, 2**128 - 1, 2**128, 2**160 - 1,
           2**160, 2**255 - 1, 2**255, 2**255 + 1, TOP - 256, TOP - 31, TOP - 1, TOP]  # fmt: skip
CALLS = 240


def values(count: int, seed: int = 1) -> list[int]:
    """Words of every size, the awkward ones among them."""
    rng = random.Random(seed)
    return [rng.choice(HOSTILE) if rng.random() < 0.5 else rng.getrandbits(rng.randrange(1, 257)) for _ in range(count)]


def calldata(words: int, calls: int = CALLS, seed: int = 1) -> list[bytes]:
    numbers = values(words * calls, seed)
    return [b"".join(map(word, numbers[at : at + words])) for at in range(0, len(numbers), words)]


def one_by_one(fork: Fork, datas: Sequence[bytes], sender: bytes | None, gas: int | None = None) -> list[bytes | None]:
    outputs: list[bytes | None] = []
    for data in datas:
        try:
            outputs.append(fork.call(CONTRACT, data, sender, gas=gas))
        except ExecutionError:
            outputs.append(None)
    return outputs


def same(fork: Fork, datas: Sequence[bytes], sender: bytes | None = None, gas: int | None = None) -> dict[str, int]:
    """Compare a batch with single calls, on one thread and on three; how the one thread did it."""
    expected = one_by_one(fork, datas, sender, gas)
    for threads in (1, 3):
        assert fork.call_many(CONTRACT, datas, sender, gas=gas, check=False, threads=threads) == expected
    effort = fork._evm.call_many(CONTRACT, list(datas), sender, gas, 1, True)[2]
    assert effort["replayed"] + effort["interpreted"] == len(datas)
    return effort


def fork_with(code: bytes, hardfork: str = "cancun") -> Fork:
    fork = Fork.empty(hardfork=hardfork)
    fork.set_code(CONTRACT, code)
    return fork


# -- instructions -----------------------------------------------------------------------------------------------------

BINARY = [
    *("ADD", "MUL", "SUB", "DIV", "SDIV", "MOD", "SMOD", "EXP", "SIGNEXTEND", "LT", "GT", "SLT", "SGT", "EQ"),
    *("AND", "OR", "XOR", "BYTE", "SHL", "SHR", "SAR"),
]


@pytest.mark.parametrize("name", BINARY)
def test_two_operands(name: str) -> None:
    effort = same(fork_with(returning(f"{Y} {X} {name}")), calldata(2))
    assert effort["replayed"] >= CALLS - 2
    assert effort["traces"] == 1


@pytest.mark.parametrize("name", BINARY)
def test_one_operand_and_a_constant(name: str) -> None:
    datas = calldata(1, 48)
    for constant in (0, 1, 3, 31, 255, 256, 2**128, 2**255, TOP):
        same(fork_with(returning(f"{constant} {X} {name}")), datas)
        same(fork_with(returning(f"{X} {constant} {name}")), datas)


@pytest.mark.parametrize("name", ["ADDMOD", "MULMOD"])
def test_three_operands(name: str) -> None:
    assert same(fork_with(returning(f"{Z} {Y} {X} {name}")), calldata(3))["replayed"] >= CALLS - 2


@pytest.mark.parametrize("name", ["ISZERO", "NOT", "ISZERO ISZERO", "ISZERO ISZERO ISZERO", "NOT NOT", "DUP1 XOR"])
def test_one_operand(name: str) -> None:
    assert same(fork_with(returning(f"{X} {name}")), calldata(1))["replayed"] >= CALLS - 2


def test_masks_and_shifts_of_what_is_known_to_be_small() -> None:
    masked = f"{X} {2**160 - 1} AND DUP1 {2**160 - 1} AND {2**128 - 1} AND 96 SHL 100 SHR"
    same(fork_with(returning(masked)), calldata(1))
    same(fork_with(returning(f"{X} 200 SHR {2**56 - 1} AND {Y} 1 AND ADD {2**57 - 1} AND")), calldata(2))
    same(fork_with(returning(f"{X} 255 SHR {Y} 255 SHR ADD ISZERO ISZERO")), calldata(2))


# -- control ----------------------------------------------------------------------------------------------------------


def test_a_branch_is_recorded_once_for_each_way() -> None:
    code = assemble(f"{X} 1 AND @odd JUMPI {X} 3 MUL 0 MSTORE 32 0 RETURN :odd {X} 7 ADD 0 MSTORE 32 0 RETURN")
    effort = same(fork_with(code), calldata(1))
    assert effort["traces"] == 2
    assert effort["replayed"] == CALLS - 2


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


def test_every_path_may_be_new() -> None:
    # A different path for nearly every call: recordings stop paying, and stop.
    code = returning(f"{X} 65535 AND :next DUP1 3 LT ISZERO @end JUMPI 3 SWAP1 SUB @next JUMP :end")
    datas = [word(n * 11) for n in range(400)]
    effort = same(fork_with(code), datas)
    assert effort["traces"] < 200


# -- memory and calls -------------------------------------------------------------------------------------------------


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


# -- surroundings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["BALANCE", "EXTCODESIZE", "EXTCODEHASH"])
def test_accounts_the_calldata_names(name: str) -> None:
    fork = fork_with(returning(f"{X} {name} {Y} ADD"))
    fork.set_balance(OTHER, 10**18)
    fork.set_nonce(LIBRARY, 3)
    named = [CONTRACT, OTHER, LIBRARY, SENDER, bytes(20), bytes(19) + b"\1", b"\7" * 20, bytes.fromhex("ef" * 20)]
    fork.set_balance(SENDER, 0)
    rng = random.Random(3)
    datas = [rng.randbytes(12) + rng.choice(named) + word(n) for n in range(CALLS)]
    for sender in (None, SENDER):
        assert same(fork, datas, sender)["replayed"] > CALLS // 2


def test_code_of_accounts_the_calldata_names() -> None:
    fork = fork_with(assemble(f"60 2 3 {X} EXTCODECOPY 64 0 RETURN"))
    fork.set_code(LIBRARY, bytes(range(90)))
    datas = [(address.rjust(32, b"\0")) for address in (CONTRACT, LIBRARY, OTHER)] * 40
    assert same(fork, datas)["replayed"] > 100


def test_the_block_and_the_caller_are_the_same_for_all() -> None:
    block = "TIMESTAMP NUMBER ADD CHAINID ADD BASEFEE ADD COINBASE ADD GASLIMIT ADD PREVRANDAO ADD"
    caller = "CALLER ORIGIN ADD GASPRICE ADD CALLVALUE ADD SELFBALANCE ADD ADDRESS ADD"
    fork = fork_with(returning(f"{X} {block} ADD {caller} ADD"))
    fork.set_block(number=1_000, timestamp=2**33)
    fork.set_balance(CONTRACT, 77)
    assert same(fork, calldata(1), SENDER)["traces"] == 1
    fork.set_code(CONTRACT, returning(f"{X} 1023 AND BLOCKHASH"))
    same(fork, calldata(1))


def test_gas_may_be_passed_on_but_not_looked_at() -> None:
    fork = fork_with(returning(f"GAS {X} ADD"))
    assert same(fork, calldata(1))["replayed"] == 0
    fork.set_code(CONTRACT, assemble(f"GAS 29970000 LT @a JUMPI 1 0 MSTORE :a {X} 32 MSTORE 64 0 RETURN"))
    assert same(fork, calldata(1))["replayed"] == 0
    fork.set_code(LIBRARY, LOAD)
    for gas in ("GAS", "2000 GAS SUB", "50000", f"{TOP}"):
        call = f"{X} 0 MSTORE 32 32 32 0 0x{LIBRARY.hex()} {gas} STATICCALL 64 MSTORE 96 0 RETURN"
        fork.set_code(CONTRACT, assemble(call))
        assert same(fork, calldata(1))["replayed"] > CALLS - 3


@pytest.mark.parametrize("gas", [22_100, 22_500, 23_900, 24_000, 24_200, 25_000, 30_000, 60_000])
def test_gas_that_is_hardly_enough(gas: int) -> None:
    # What two reads cost depends on whether they are of one slot, and calldata of zeros is cheaper.
    fork = fork_with(returning(f"{X} SLOAD {Y} SLOAD ADD {X} {Y} EXP ADD"))
    datas = [word(a) + word(b) for a in (0, 1, 2**255, TOP) for b in (0, 1, 2**255, TOP)] * 12
    same(fork, datas, gas=gas)


@pytest.mark.parametrize("way", ["RETURN", "REVERT", "INVALID"])
@pytest.mark.parametrize("gas", [*range(23_000, 27_500, 300), 60_000])
def test_gas_that_ends_before_a_branch_that_others_reach(gas: int, way: str) -> None:
    # Two reads of one slot leave enough for the branch behind them, of two slots perhaps not.
    reads = f"{X} SLOAD {Y} SLOAD ADD"
    branch = f"DUP1 {Z} ADD 1 AND @odd JUMPI 0 MSTORE 32 0 RETURN :odd 0 MSTORE 32 0 {way}"
    fork = fork_with(assemble(f"{reads} {branch}"))
    for slot in (1, 2**255):
        fork.set_storage(CONTRACT, slot, 7)
    numbers = (0, 1, 2**255, TOP)
    datas = [word(a) + word(b) + word(c) for c in (0, 1) for a in numbers for b in numbers] * 6
    for order in (datas, datas[::-1], random.Random(gas).sample(datas, len(datas))):
        same(fork, order, gas=gas)


def test_gas_that_does_not_even_pay_for_the_calldata() -> None:
    with pytest.raises(TransactionInvalid):
        fork_with(LOAD).call_many(CONTRACT, calldata(1), gas=21_000)


def test_a_callee_with_hardly_enough_gas() -> None:
    fork = fork_with(b"")
    fork.set_code(LIBRARY, returning(f"{X} SLOAD {Y} SLOAD ADD"))
    datas = [word(a) + word(b) for a in range(4) for b in range(4)] * 12
    for gas in (2_100, 2_300, 4_200, 4_300, 4_400, 6_000, 30_000):
        call = f"64 0 0 CALLDATACOPY 32 64 64 0 0x{LIBRARY.hex()} {gas} STATICCALL 96 MSTORE 128 0 RETURN"
        fork.set_code(CONTRACT, assemble(call))
        same(fork, datas)


def test_a_callee_whose_gas_ends_before_a_branch_that_others_reach() -> None:
    fork = fork_with(b"")
    branch = "1 AND @odd JUMPI 1 0 MSTORE 32 0 RETURN :odd 2 0 MSTORE 32 0"
    datas = [word(a) + word(b) for a in range(4) for b in range(4)] * 12
    for way in ("RETURN", "REVERT", "INVALID"):
        fork.set_code(LIBRARY, assemble(f"{X} SLOAD {Y} SLOAD ADD {Y} ADD {branch} {way}"))
        for gas in (*range(2_100, 2_400, 60), *range(4_200, 4_500, 20), 30_000):
            call = f"64 0 0 CALLDATACOPY 32 64 64 0 0x{LIBRARY.hex()} {gas} STATICCALL 96 MSTORE"
            fork.set_code(CONTRACT, assemble(f"{call} {X} 1 AND @end JUMPI 7 160 MSTORE :end 192 0 RETURN"))
            same(fork, datas)
            same(fork, datas[::-1])


@pytest.mark.parametrize(
    "source",
    [
        f"{X} {Y} SSTORE {Y} SLOAD",
        f"1 0 SSTORE 0 SLOAD {X} ADD",
        f"{X} 0 TSTORE 0 TLOAD",
        f"{X} 0 MSTORE 32 0 LOG0 {X}",
        f"{X} 0 MSTORE 0 0 0 CREATE {X} ADD",
        f"0 0 0 0 {X} 1 AND 0x{OTHER.hex()} GAS CALL 0x{OTHER.hex()} BALANCE ADD",
        f"{X} 1 AND @end JUMPI 0x{OTHER.hex()} SELFDESTRUCT :end 5",
    ],
)
def test_what_is_not_a_view_is_as_exact(source: str) -> None:
    fork = fork_with(returning(source))
    fork.set_balance(CONTRACT, 10**18)
    before = fork.digest()
    for seed in range(6):
        same(fork, calldata(2, 600, seed))
    assert fork.digest() == before


# -- random programs --------------------------------------------------------------------------------------------------

SNIPPETS = [
    *(f"{name}" for name in BINARY),
    "ISZERO",
    "NOT",
    "DUP1",
    "DUP2",
    "SWAP1",
    "SWAP2",
    X,
    Y,
    "4 CALLDATALOAD",
    "255 AND CALLDATALOAD",
    "7 AND SLOAD",
    "DUP1 40 MSTORE",
    "DUP2 255 AND MSTORE8",
    "DUP1 3 AND 32 MUL MLOAD",
    "47 MLOAD",
    "90 3 KECCAK256",
    "65 DUP2 31 AND KECCAK256",
    "GAS POP",
    "GAS ADD",
    "MSIZE",
    "3 DUP2 DUP2 ADDMOD",
    "DUP2 DUP2 DUP2 MULMOD",
    "DUP1 BALANCE",
    "DUP1 EXTCODESIZE",
    "DUP1 EXTCODEHASH",
    "DUP1 7 AND BLOCKHASH",
    "DUP1 TLOAD",
    "31 DUP2 15 AND 60 MCOPY",
    "DUP1 31 AND 5 80 CALLDATACOPY",
    "DUP1 31 AND 0 80 CODECOPY",
    f"0 0 DUP3 31 AND 3 0 0x{LIBRARY.hex()} 60000 CALL",
    f"0 0 32 3 DUP5 1 AND 0x{LIBRARY.hex()} GAS CALL SELFBALANCE ADD",
    "DUP1 1 AND 0 SSTORE",
    f"20 9 32 3 DUP5 1 AND 0x{LIBRARY.hex()} ADD 3000 GAS SUB STATICCALL",
    "CALLDATASIZE",
    f"64 0 0 CALLDATACOPY 40 7 50 9 0x{LIBRARY.hex()} GAS STATICCALL",
    f"64 0 0 CALLDATACOPY 32 0 64 0 0x{LIBRARY.hex()} GAS DELEGATECALL RETURNDATASIZE ADD",
    "RETURNDATASIZE 0 200 RETURNDATACOPY 210 MLOAD",
    *(str(value) for value in (0, 1, 32, 255, 2**128, TOP)),
]


@st.composite
def programs(draw: st.DrawFn) -> bytes:
    """Branches over random snippets, then everything that is left returned."""
    parts = [X, Y, "7", X]
    for index in range(draw(st.integers(1, 6))):
        body = " ".join(draw(st.lists(st.sampled_from(SNIPPETS), max_size=6)))
        # Behind each part the stack is as high as on either way to it: what a part leaves goes to memory.
        parts.append(f"DUP1 {draw(st.integers(0, 3))} BYTE @skip{index} JUMPI {body} {index * 32} MSTORE :skip{index}")
        parts.append(f"{X} {Y} 5 {X}")
    return assemble(" ".join(parts) + " 0 MSTORE 100 MSTORE 300 0 RETURN")


@given(programs(), st.integers(0, 2**32), st.none() | st.integers(23_000, 60_000))
@settings(max_examples=2 * settings().max_examples)
def test_random_programs(code: bytes, seed: int, gas: int | None) -> None:
    fork = fork_with(code)
    fork.set_code(
        LIBRARY, assemble(f"{X} 1 AND @odd JUMPI {Y} 5 MSTORE 50 0 RETURN :odd {X} 3 AND SLOAD 0 MSTORE 40 0 REVERT")
    )
    fork.set_balance(CONTRACT, seed % 3)
    for slot in range(0, 8, 2):
        fork.set_storage(CONTRACT, slot, 2**250 - slot)
        fork.set_storage(LIBRARY, slot, 3 * slot + 1)
    same(fork, calldata(2, 120, seed), gas=gas)


@given(st.lists(st.binary(max_size=70), min_size=40, max_size=80))
@settings(max_examples=25)
def test_calldata_of_any_length(datas: list[bytes]) -> None:
    fork = fork_with(assemble("200 0 0 CALLDATACOPY 40 CALLDATALOAD 200 MSTORE CALLDATASIZE 232 MSTORE 264 0 RETURN"))
    same(fork, datas * 4)


# -- the call itself --------------------------------------------------------------------------------------------------


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


# -- state that is fetched --------------------------------------------------------------------------------------------


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
