"""Replayed transactions do what interpreted ones do, to the last slot and unit of gas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mayavi import _kernel
from mayavi.errors import ReplayDiffers, UsageError
from mayavi.evm.fleet import SUCCESS, Fleet, Program, Template
from mayavi.evm.fork import Fork
from mayavi.evm.specialise import SPECIALISE
from mayavi.evm.words import to_words
from tests.evm.assembler import assemble, returning

ALICE = b"\xa1" * 20
TARGET, LIBRARY, OTHER = (bytes([n]) * 20 for n in (0x41, 0x42, 0x43))
ROWS, STEPS = 8, 60
EDGES = [0, 1, 2, 255, 256, 2**64 - 1, 2**64, 2**128 + 1, 2**255, 2**256 - 1]

LIBRARY_CODE = assemble("1 SLOAD 0 CALLDATALOAD ADD 1 SSTORE 0 CALLDATALOAD 3 MOD @fails JUMPI 7 0 MSTORE 32 0 RETURN"
                        " :fails 0 CALLDATALOAD 0 MSTORE 32 0 REVERT")  # fmt: skip
"""Adds its word to slot 1 and returns 7; reverts with the word unless three divides it."""

CONTRACTS = {
    "counts up and down": returning("0 SLOAD 0 CALLDATALOAD ADD DUP1 0 SSTORE"),
    "writes any slot": assemble("32 CALLDATALOAD 0 CALLDATALOAD 15 AND SSTORE"),
    "writes and clears in one go": assemble("5 0 SSTORE 0 CALLDATALOAD 0 SSTORE 32 CALLDATALOAD 0 SSTORE"),
    "keeps a mapping": assemble("0 CALLDATALOAD 7 AND 0 MSTORE 9 32 MSTORE 64 0 KECCAK256 DUP1 SLOAD"
                                " 32 CALLDATALOAD ADD SWAP1 SSTORE"),
    "branches": returning("0 CALLDATALOAD 32 CALLDATALOAD GT @more JUMPI 3 0 SLOAD ADD DUP1 0 SSTORE @end JUMP"
                          " :more 5 1 SLOAD ADD DUP1 1 SSTORE :end"),
    "climbs a ladder": returning("0 0 CALLDATALOAD DUP1 1 AND ISZERO @a JUMPI SWAP1 3 ADD SWAP1 :a"
                                 " DUP1 2 AND ISZERO @b JUMPI SWAP1 7 MUL 1 ADD SWAP1 :b"
                                 " DUP1 4 AND ISZERO @c JUMPI SWAP1 11 ADD SWAP1 :c"
                                 " 8 AND @d JUMPI 5 ADD @e JUMP :d 2 MUL :e DUP1 0 SSTORE"),
    "reverts at times": assemble("32 CALLDATALOAD 0 SSTORE 0 CALLDATALOAD 3 AND @fails JUMPI STOP"
                                 " :fails 0 CALLDATALOAD 0 MSTORE 32 0 REVERT"),
    "delegates": returning(f"0 CALLDATALOAD 0 MSTORE 32 0 32 0 0x{LIBRARY.hex()} GAS DELEGATECALL"
                           " 32 CALLDATALOAD 2 SSTORE 0 MLOAD ADD"),
    "calls": returning(f"0 CALLDATALOAD 0 MSTORE 32 64 32 0 0 0x{LIBRARY.hex()} GAS CALL"
                       " 64 MLOAD 100 MUL ADD RETURNDATASIZE ADD"),
    "logs": assemble("0 CALLDATALOAD 0 MSTORE 32 CALLDATALOAD 32 MSTORE 32 CALLDATALOAD 40 3 LOG1"),
    "locks in transient storage": returning("1 TLOAD 0 CALLDATALOAD 1 TSTORE 1 TLOAD ADD 0 1 TSTORE 1 TLOAD ADD"
                                            " DUP1 3 SSTORE"),
    "tells the time": returning("TIMESTAMP 1000 MUL NUMBER ADD BASEFEE ADD SELFBALANCE ADD DUP1 3 SSTORE"),
    "pays for an exponent": returning("32 CALLDATALOAD 0 CALLDATALOAD EXP"),
    "reads gas": returning("GAS 1000000 LT"),
    "packs bytes": returning("0 CALLDATALOAD 3 MSTORE 32 CALLDATALOAD 30 MSTORE8 9 MLOAD DUP1 1 SSTORE"),
    "halts at times": assemble("0 CALLDATALOAD 3 AND @fails JUMPI STOP :fails INVALID"),
    "creates": returning("0 0 0 CREATE"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def call_by_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replay calls one by one: whole programs have tests of their own."""
    monkeypatch.setenv("MAYAVI_WHOLE_PROGRAMS", "0")


def world(code: bytes, hardfork: str = "osaka") -> Fork:
    fork = Fork.empty(hardfork=hardfork)
    fork.set_block(number=1_000, timestamp=50_000)
    fork.set_balance(ALICE, 10**18)
    for place, runtime in {TARGET: code, LIBRARY: LIBRARY_CODE}.items():
        fork.set_code(place, runtime)
    return Fork.from_state(fork.freeze(), labels={}, source={})


def program() -> Program:
    made = Program()
    one, two, pause = (made.input(name) for name in ("one", "two", "pause"))
    made.advance(1, pause)
    status, gas, words = made.call(Template(TARGET, bytes(64), {0: one, 32: two}, sender=ALICE), returns=1)
    _, view_gas, seen = made.call(Template(TARGET, bytes(64), {0: two, 32: one}), returns=1, commit=False)
    slots = [made.load(TARGET, slot) for slot in range(4)]
    for index, each in enumerate([status, gas, *words, view_gas, *seen, *slots]):
        made.output(str(index), each)
    return made


def inputs(seed: int, steps: int = STEPS) -> list[dict[str, Any]]:
    """Words of every size, edges and repetitions among them."""
    rng = np.random.default_rng(seed)

    def drawn() -> int:
        kind = rng.integers(4)
        if kind == 0:
            return EDGES[rng.integers(len(EDGES))]
        return int(rng.integers(16)) if kind < 3 else int.from_bytes(rng.bytes(int(rng.integers(1, 33))), "big")

    return [
        {"one": to_words([drawn() for _ in range(ROWS)], ROWS, "one"),
         "two": to_words([drawn() for _ in range(ROWS)], ROWS, "two"),
         "pause": rng.integers(0, 3, ROWS)}
        for _ in range(steps)
    ]  # fmt: skip


def course(fleet: Fleet, steps: Sequence[dict[str, Any]], threads: int = 1) -> list[bytes]:
    """All outputs and the states at the end."""
    made = program()
    told = [fleet.run(made, threads=threads, **each).words.tobytes() for each in steps]
    return told + fleet.identities()


def hits(fleet: Fleet) -> int:
    return sum(site["hits"] for site in fleet.statistics())


@pytest.mark.parametrize("name", CONTRACTS)
def test_every_mode_gives_the_same(name: str) -> None:
    fork, steps = world(CONTRACTS[name]), inputs(1)
    told = course(Fleet(fork, ROWS, specialise="off"), steps)
    for mode in ("on", "check"):
        for threads in (1, 2):
            fleet = Fleet(fork, ROWS, specialise=mode)
            assert course(fleet, steps, threads) == told, (mode, threads)
            never = name in ("reads gas", "creates")
            assert (hits(fleet) == 0) == never, fleet.statistics()


@pytest.mark.slow(0.5)
def test_two_threads_that_meet_a_new_path_record_it_once() -> None:
    fork, steps = world(CONTRACTS["writes any slot"]), inputs(1)
    told = course(Fleet(fork, ROWS, specialise="off"), steps)
    for _ in range(50):
        assert course(Fleet(fork, ROWS, specialise="check"), steps, threads=2) == told


@pytest.mark.parametrize("hardfork", ["berlin", "london", "shanghai", "prague", "amsterdam"])
def test_every_hard_fork_gives_the_same(hardfork: str) -> None:
    fork, steps = world(CONTRACTS["writes and clears in one go"], hardfork), inputs(6)
    fleet = Fleet(fork, ROWS, specialise="check")
    assert course(fleet, steps) == course(Fleet(fork, ROWS, specialise="off"), steps)
    assert (hits(fleet) > 0) == (hardfork in ("london", "shanghai", "prague"))


def test_a_ladder_is_one_path() -> None:
    fleet = Fleet(world(CONTRACTS["climbs a ladder"]), ROWS, specialise="check")
    course(fleet, inputs(2))
    assert max(site["paths"] for site in fleet.statistics()) <= 2


def test_machine_code_takes_over_and_gives_the_same() -> None:
    fork, steps = world(CONTRACTS["counts up and down"]), inputs(3, 40) * 8
    fleet = Fleet(fork, ROWS, specialise="check")
    plain = Fleet(fork, ROWS, specialise="off")
    assert course(fleet, steps) == course(plain, steps)
    fleet.finish_compiling()
    assert course(fleet, steps[:9]) == course(plain, steps[:9])
    assert sum(site["native"] for site in fleet.statistics()) > 0


def test_some_replays_are_timed_against_the_interpreter() -> None:
    fleet = Fleet(world(CONTRACTS["counts up and down"]), ROWS, specialise="on")
    course(fleet, inputs(3, 60))
    for site in fleet.statistics():
        assert 0 < site["timed"] < site["hits"] / 8
        assert site["interpret_seconds"] > 0 < site["replay_seconds"]


def reader() -> tuple[Fork, Program]:
    """A contract that returns slot 5, which nobody writes, plus its word."""
    made = Program()
    one = made.input("one")
    _, _, words = made.call(Template(TARGET, bytes(32), {0: one}, sender=ALICE), returns=1)
    made.output("told", words[0])
    return world(returning("5 SLOAD 0 CALLDATALOAD ADD")), made


def told(fleet: Fleet, made: Program) -> list[int]:
    return [int(each) for each in fleet.run(made, one=100, threads=1)["told"].uint64()]


@pytest.mark.parametrize("mode", ["on", "check"])
def test_a_write_to_a_folded_slot_is_seen(mode: str) -> None:
    fork, made = reader()
    fleet = Fleet(fork, 4, specialise=mode)
    for _ in range(20):
        assert told(fleet, made) == [100] * 4
    assert hits(fleet) > 0
    writer = Program()
    writer.store(TARGET, 5, 7, mask=writer.input("mask"))
    fleet.run(writer, mask=np.array([0, 1, 0, 0]), threads=1)
    for _ in range(4):
        assert told(fleet, made) == [100, 107, 100, 100]
    assert sum(site["resets"] for site in fleet.statistics()) == 1


@pytest.mark.parametrize("mode", ["on", "check"])
def test_a_row_with_other_code_or_slots_is_seen(mode: str) -> None:
    fork, made = reader()
    fleet = Fleet(fork, 3, specialise=mode)
    for _ in range(30):
        told(fleet, made)
    changed = fleet.fork(0)
    changed.set_code(TARGET, returning("0 CALLDATALOAD 9 MUL"))
    fleet.set_row(1, changed)
    written = fleet.fork(0)
    written.set_storage(TARGET, 5, 1)
    fleet.set_row(2, written)
    for _ in range(4):
        assert told(fleet, made) == [100, 900, 101]
    fleet.reset()
    assert told(fleet, made) == [100] * 3


def test_a_dropped_guard_is_found() -> None:
    fork, steps = world(CONTRACTS["reverts at times"]), inputs(4)
    kernel = _kernel.Fleet(fork._evm, ROWS, "check", "guard")
    made = program()
    fleet = Fleet(fork, ROWS, specialise="off")
    words = [fleet._words(made, each, ROWS) for each in steps]
    with pytest.raises(ReplayDiffers, match="differs from the interpreted one"):
        _ = [kernel.run(made, each, 1) for each in words]


def test_a_run_that_fails_leaves_rows_as_they_were() -> None:
    fork = world(CONTRACTS["counts up and down"])
    fleet = Fleet(fork, ROWS, specialise="on")
    course(fleet, inputs(5, 30))
    assert hits(fleet) > 0
    before = fleet.identities()
    made = Program()
    made.call(Template(TARGET, bytes(64), {0: made.input("one")}, sender=ALICE))
    made.call(Template(made.input("to"), bytes(64)))
    for _ in range(4):
        fleet.run(made, one=1, to=int.from_bytes(OTHER, "big"), threads=1)
    fleet.run(made, one=2**256 - 4, to=int.from_bytes(OTHER, "big"), threads=1)
    after = fleet.identities()
    with pytest.raises(UsageError, match="not an address"):
        fleet.run(made, one=5, to=2**200, threads=1)
    assert fleet.identities() == after != before


def mixed_program() -> Program:
    """Replayed writes, an interpreted call between them, slots read and written directly, and an address at the end."""
    made = Program()
    one, interpreted = made.input("one"), made.input("interpreted")
    call = Template(TARGET, bytes(64), {0: one}, sender=ALICE)
    made.call(call)
    made.output("loaded", made.load(TARGET, 0))
    made.store(TARGET, 0, made.add(made.load(TARGET, 0), 5), mask=made.input("direct"))
    _, _, words = made.call(call, returns=1)
    made.output("first", words[0])
    made.call(Template(LIBRARY, bytes(32), sender=ALICE, value=made.input("coins")), mask=interpreted)
    made.call(Template(OTHER, bytes(32), sender=ALICE), mask=interpreted)
    _, _, words = made.call(call, returns=1)
    made.output("second", words[0])
    made.call(Template(made.input("to"), bytes(64), sender=ALICE))
    return made


def test_writes_that_wait_beside_a_row_are_seen_by_everybody() -> None:
    fork = world(CONTRACTS["counts up and down"])
    fork.set_code(OTHER, assemble("GAS 1 SSTORE"))
    made, rng = mixed_program(), np.random.default_rng(8)
    fleets = {mode: Fleet(fork, ROWS, specialise=mode) for mode in ("off", "on", "check")}
    for step in range(60):
        given = {name: rng.integers(0, 2, ROWS) for name in ("direct", "interpreted", "coins")}
        given["one"] = rng.integers(0, 9, ROWS)
        words = set()
        for fleet in fleets.values():
            words.add(fleet.run(made, to=int.from_bytes(OTHER, "big"), threads=1, **given).words.tobytes())
            if step % 7 == 3:  # the last call fails, after some rows were interpreted half-way
                with pytest.raises(UsageError, match="not an address"):
                    fleet.run(made, to=2**200, threads=1, **given)
            if step % 5 == 1:
                fleet.copy_row(1, 2)
                fleet.put(4, fleet.keep(3))
                fleet.set_row(5, fleet.fork(6))
            if step % 11 == 6:
                fleet.reset([0, 7])
        assert len(words) == 1
        slots = {tuple(fleet.fork(row).storage(TARGET, 0) for row in range(ROWS)) for fleet in fleets.values()}
        assert len(slots) == 1
        if step % 4 == 0:
            assert fleets["off"].identities() == fleets["on"].identities() == fleets["check"].identities()
    assert all(hits(fleets[mode]) > 1_000 for mode in ("on", "check"))


def test_a_transfer_of_coins_is_interpreted() -> None:
    fork = world(CONTRACTS["tells the time"])
    made = Program()
    status, _, _ = made.call(Template(TARGET, bytes(32), sender=ALICE, value=made.input("value")))
    made.output("status", status)
    fleets = [Fleet(fork, 2, specialise=mode) for mode in ("off", "check")]
    for _ in range(12):
        for fleet in fleets:
            assert fleet.run(made, value=3, threads=1).status("status").tolist() == [SUCCESS] * 2
    assert fleets[0].identities() == fleets[1].identities()


def test_the_environment_variable_decides_where_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    fork, _ = reader()
    monkeypatch.delenv(SPECIALISE, raising=False)
    assert Fleet(fork, 1).specialise == "on"
    monkeypatch.setenv(SPECIALISE, "check")
    assert Fleet(fork, 1).specialise == "check"
    assert Fleet(fork, 1, specialise="off").statistics() == []
    monkeypatch.setenv(SPECIALISE, "always")
    with pytest.raises(UsageError, match="MAYAVI_SPECIALISE is 'always'"):
        Fleet(fork, 1)


@pytest.mark.parametrize("name", ["MAYAVI_JIT", "MAYAVI_WHOLE_PROGRAMS"])
def test_a_switch_of_the_kernel_is_0_or_1(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    fork, _ = reader()
    for value in ("", "0", " 1 "):
        monkeypatch.setenv(name, value)
        assert Fleet(fork, 1, specialise="on").specialise == "on"
    monkeypatch.setenv(name, "off")
    with pytest.raises(UsageError, match=f"{name} is 'off'") as refused:
        Fleet(fork, 1, specialise="on")
    assert refused.value.hint == "it is 0 (off) or 1 (on, the default)"
