"""Storage cleared by a creation or a destruction is read as zero, replayed or not."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi import _kernel
from mayavi.evm.fleet import Fleet, Program, Template
from mayavi.evm.fork import Fork
from mayavi.evm.hashing import keccak256
from tests.evm.assembler import assemble, returning

ALICE = b"\xa1" * 20
DOOMED, MAKER, READER = (bytes([number]) * 20 for number in (0x51, 0x52, 0x53))
CHILD = keccak256(b"\xff" + MAKER + bytes(32) + keccak256(b""))[12:]
SLOT, KEPT = 5, 77
ASK = b"\1\2\3\4" + bytes(32)


def world(hardfork: str) -> Fork:
    """A contract that may destroy itself, one that creates over storage, and one that answers."""
    fork = Fork.empty(hardfork=hardfork)
    answers = f"CALLDATASIZE @asked JUMPI 0 SELFDESTRUCT :asked {SLOT} SLOAD 4 CALLDATALOAD ADD 0 MSTORE 32 0 RETURN"
    fork.set_code(DOOMED, assemble(answers))
    fork.set_storage(DOOMED, SLOT, KEPT)
    fork.set_code(MAKER, returning("0 0 0 0 CREATE2"))
    fork.set_storage(CHILD, SLOT, KEPT)
    fork.set_code(READER, returning("0 CALLDATALOAD"))
    return Fork.from_state(fork.freeze(), labels={}, source={})


def loading(account: bytes) -> Program:
    program = Program()
    program.call(Template(READER, bytes(32), {0: program.input("word")}, sender=ALICE))
    program.output("slot", program.load(account, SLOT))
    return program


def sending(to: bytes) -> Program:
    program = Program()
    program.call(Template(to, b"", {}, sender=ALICE), mask=program.input("sends"))
    return program


CLEARED = [("london", DOOMED, DOOMED, 0), ("shanghai", DOOMED, DOOMED, 0), ("cancun", DOOMED, DOOMED, KEPT)]
CLEARED += [(hardfork, MAKER, CHILD, 0) for hardfork in ("london", "cancun", "prague", "osaka")]
"""Hard fork, whom a transaction calls, whose slot it may clear, and what the slot holds then."""


@pytest.mark.parametrize("way", ["run", "set_row"])
@pytest.mark.parametrize("mode", ["off", "on", "check"])
@pytest.mark.parametrize(("hardfork", "to", "account", "left"), CLEARED)
def test_whole_steps_read_what_is_left(
    hardfork: str, to: bytes, account: bytes, left: int, mode: str, way: str
) -> None:
    fleet, load = Fleet(world(hardfork), 2, specialise=mode), loading(account)
    for run in range(300):
        fleet.run(load, threads=1, word=1)
        if run % 100 == 99:
            fleet.finish_compiling()
    if way == "run":
        fleet.run(sending(to), threads=1, sends=np.array([1, 0]))
    else:
        changed = fleet.fork(0)
        changed.send(to, b"", sender=ALICE)
        fleet.set_row(0, changed)
    for _ in range(40):
        assert fleet.run(load, threads=1, word=1)["slot"].ints() == [left, KEPT]
    fleet.reset()
    assert fleet.run(load, threads=1, word=1)["slot"].ints() == [KEPT, KEPT]


@pytest.mark.parametrize("mode", ["off", "on", "check"])
@pytest.mark.parametrize("hardfork", ["london", "shanghai"])
def test_reads_and_transactions_of_forks_see_what_is_left(hardfork: str, mode: str) -> None:
    fork = world(hardfork)
    fork.specialise = mode
    for number in range(200):
        assert int.from_bytes(fork.call(DOOMED, ASK), "big") == KEPT
        assert fork.send(DOOMED, ASK, sender=ALICE).output == fork.call(DOOMED, ASK)
        if number % 50 == 49:
            fork.finish_compiling()
    before = fork.snapshot()
    fork.send(DOOMED, b"", sender=ALICE)
    code = fork.copy()
    code.set_code(DOOMED, returning(f"{SLOT} SLOAD"))  # the same address again, over cleared storage
    for again in (code, code.copy()):
        assert int.from_bytes(again.call(DOOMED, ASK), "big") == 0
        assert int.from_bytes(again.send(DOOMED, ASK, sender=ALICE).output, "big") == 0
    before.revert()
    assert int.from_bytes(fork.call(DOOMED, ASK), "big") == KEPT
    assert int.from_bytes(fork.send(DOOMED, ASK, sender=ALICE).output, "big") == KEPT


@pytest.mark.parametrize(("hardfork", "to", "account"), [("shanghai", DOOMED, DOOMED), ("osaka", MAKER, CHILD)])
def test_a_kernel_of_a_device_is_outdated(hardfork: str, to: bytes, account: bytes) -> None:
    fleet, load = Fleet(world(hardfork), 4, specialise="on"), loading(account)
    fleet._fleet.record_all_paths()
    for _ in range(100):
        fleet.run(load, threads=1, word=1)
    kernel = _kernel.DeviceFleet(load, [("word", 0, 4)], [], [("slot", "word", 0, 4)], [], "emulated")
    assert kernel.print(fleet._fleet, load, 1, 1) == 1
    kernel.adopt()
    assert kernel.is_current(fleet._fleet, load)
    fleet.run(sending(to), threads=1, sends=np.array([1, 0, 0, 0]))
    assert not kernel.is_current(fleet._fleet, load)
