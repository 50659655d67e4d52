"""Batches of views that read accounts, block and gas, or write: each output is that of a single call."""

from __future__ import annotations

import random

import pytest

from mayavi.errors import TransactionInvalid
from tests.evm.assembler import assemble, returning
from tests.evm.bytecode import LOAD, word
from tests.evm.fork.view_batches import CALLS, CONTRACT, LIBRARY, OTHER, SENDER, TOP, X, Y, Z, calldata, fork_with, same


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


@pytest.mark.slow(0.5)
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
