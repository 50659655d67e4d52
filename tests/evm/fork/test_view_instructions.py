"""Batches of views, instruction by instruction and in random programs: each output is that of a single call."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.evm.assembler import assemble, returning
from tests.evm.fork.view_batches import BINARY, CALLS, CONTRACT, LIBRARY, TOP, X, Y, Z, calldata, fork_with, same


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
