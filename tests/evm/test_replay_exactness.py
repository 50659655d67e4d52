"""What replays once did differently from the interpreter, under every hard fork that matters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mayavi.errors import ExecutionError
from mayavi.evm.fleet import HALTED, REVERTED, SUCCESS, Fleet, Program, Template
from mayavi.evm.fork import Fork
from mayavi.evm.hashing import keccak256
from mayavi.evm.words import to_words
from tests.evm.assembler import assemble, returning

ALICE, BOB = b"\xa1" * 20, b"\xb2" * 20
TARGET, READER, DOOMED, MAKER = (bytes([n]) * 20 for n in (0x51, 0x52, 0x53, 0x54))
SELECTOR = b"\x11\x22\x33\x44"
ROWS = 6
REPLAYING = ["on", "check"]

# -- branches whose sides meet, one of which halts --------------------------------------------------------------------


def branching(side: str, below: int = 0) -> bytes:
    """Take `side` where the first word is odd, and push a number where it is even; keep the word that is on top."""
    return assemble("PC " * below + "4 CALLDATALOAD 1 AND @odd JUMPI 8 @both JUMP"
                    f" :odd {side} @both JUMP :both 36 CALLDATALOAD ADD 2 SSTORE STOP")  # fmt: skip


DEEP = "1 2 3 POP POP"
"""Leaves a word more, and needs room for three."""
HALTING = {
    "a stack without room": (branching(DEEP, 1_022), ["london", "shanghai", "osaka"]),
    "PUSH0 before Shanghai": (branching("PUSH0"), ["london", "paris"]),
    "CLZ before Osaka": (branching("5 CLZ"), ["london", "cancun", "prague"]),
    "INVALID": (branching("5 INVALID"), ["london", "osaka"]),
    "an underflow": (branching("POP POP POP 1"), ["osaka"]),
}
GOING_ON = {
    "a stack with room": (branching(DEEP, 1_021), ["osaka"]),
    "PUSH0 from Shanghai on": (branching("PUSH0"), ["shanghai", "osaka"]),
    "CLZ from Osaka on": (branching("5 CLZ"), ["osaka"]),
}
BRANCHES = [
    pytest.param(code, hardfork, halts, id=f"{name}, {hardfork}")
    for cases, halts in ((HALTING, True), (GOING_ON, False))
    for name, (code, hardforks) in cases.items()
    for hardfork in hardforks
]


def world(hardfork: str, codes: dict[bytes, bytes], slots: dict[bytes, dict[int, int]] | None = None) -> Fork:
    fork = Fork.empty(hardfork=hardfork)
    for place, code in codes.items():
        fork.set_code(place, code)
    for place, values in (slots or {}).items():
        for slot, value in values.items():
            fork.set_storage(place, slot, value)
    return Fork.from_state(fork.freeze(), labels={}, source={})


def calldata(first: int, second: int = 0) -> bytes:
    return SELECTOR + first.to_bytes(32, "big") + second.to_bytes(32, "big")


@pytest.mark.parametrize("mode", REPLAYING)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("code", "hardfork", "halts"), BRANCHES)
def test_rows_that_take_a_side_for_the_first_time(
    code: bytes, hardfork: str, halts: bool, whole: bool, mode: str
) -> None:
    made = Program(whole=whole)
    holes = {4: made.input("first"), 36: made.input("second")}
    template = Template(TARGET, calldata(0), holes, sender=ALICE, gas=200_000)
    for name, word in zip(("status", "gas"), made.call(template), strict=False):
        made.output(name, word)
    fork = world(hardfork, {TARGET: code})
    fleets = {each: Fleet(fork, ROWS, specialise=each) for each in ("off", mode)}

    def told(**given: Any) -> list[bytes]:
        found = {each: fleet.run(made, threads=1, **given) for each, fleet in fleets.items()}
        assert found[mode].words.tobytes() == found["off"].words.tobytes()
        return list(found["off"].status("status"))

    for step in range(60):
        assert told(first=0, second=step) == [SUCCESS] * ROWS
    fleets[mode].finish_compiling()
    counts = fleets[mode].program_statistics() if whole else fleets[mode].statistics()
    assert sum(each["hits"] for each in counts) > 0
    for step in range(30):
        assert told(first=np.arange(ROWS), second=step) == [SUCCESS, HALTED if halts else SUCCESS] * (ROWS // 2)
    assert fleets[mode].identities() == fleets["off"].identities()


@pytest.mark.parametrize("mode", REPLAYING)
@pytest.mark.parametrize(("code", "hardfork", "halts"), BRANCHES)
def test_transactions_that_take_a_side_for_the_first_time(code: bytes, hardfork: str, halts: bool, mode: str) -> None:
    def course(mode: str) -> tuple[list[Any], Fork]:
        fork = world(hardfork, {TARGET: code})
        fork.specialise = mode
        receipts = []
        for step in [0] * 60 + list(range(60)):
            data = calldata(step if step % 5 == 4 else 0, step)
            receipts.append(fork.send(TARGET, data, (ALICE, BOB)[step % 2], gas=200_000, check=False))
        return [(each.success, each.gas_used, each.reason) for each in receipts] + [fork.digest()], fork

    wanted, _ = course("off")
    assert {False, True} >= {each[0] for each in wanted[:-1]} == ({False, True} if halts else {True})
    found, fork = course(mode)
    assert found == wanted
    assert sum(site["hits"] for site in fork.statistics()) > 0


@pytest.mark.parametrize("mode", REPLAYING)
@pytest.mark.parametrize(
    ("code", "hardfork", "halts"),
    [*BRANCHES, pytest.param(branching("9 1 SHL"), "byzantium", True, id="SHL before Constantinople"),
     pytest.param(branching("PUSH0"), "berlin", True, id="PUSH0 where paths are not kept")],
)  # fmt: skip
def test_reads_that_take_a_side_for_the_first_time(code: bytes, hardfork: str, halts: bool, mode: str) -> None:
    def one(fork: Fork, data: bytes) -> str:
        try:
            return fork.call(TARGET, data, gas=200_000).hex()
        except ExecutionError as error:
            return str(error)

    def course(mode: str) -> list[Any]:
        fork = world(hardfork, {TARGET: code.replace(assemble("2 SSTORE STOP"), assemble("0 MSTORE 32 0 RETURN"))})
        fork.specialise = mode
        seen: list[Any] = []
        for odd in (0, 0, 0, 1, 1):
            datas = [calldata(odd * row, row) for row in range(80)]
            seen.append(fork.call_many(TARGET, datas, gas=200_000, check=False, threads=1))
            fork.finish_compiling()
        return seen + [one(fork, calldata(row * (row > 30), row)) for row in range(60)]

    wanted = course("off")
    assert course(mode) == wanted
    assert wanted[3].count(None) == (40 if halts else 0)


# -- gas of whole steps at the floor of EIP-7623 ----------------------------------------------------------------------

CLEARS = assemble("0 1 SSTORE " + "PC POP " * 100 + "STOP")
SETS_AND_CLEARS = assemble("9 1 SSTORE 0 1 SSTORE " + "PC POP " * 100 + "STOP")
CLEARS_AND_REVERTS = assemble("0 1 SSTORE 0 0 REVERT")


@pytest.mark.parametrize("mode", REPLAYING)
@pytest.mark.parametrize("hardfork", ["london", "shanghai", "prague", "osaka"])
@pytest.mark.parametrize("code", [CLEARS, SETS_AND_CLEARS, CLEARS_AND_REVERTS], ids=["clears", "sets", "reverts"])
@pytest.mark.parametrize("tail", [0, 40, 90, 400])
def test_a_refund_that_never_varies_leaves_the_floor(code: bytes, hardfork: str, tail: int, mode: str) -> None:
    made = Program()
    made.store(TARGET, 1, 5)
    data = calldata(0) + b"\xff" * tail
    status, gas, _ = made.call(Template(TARGET, data, {4: made.input("word")}, sender=ALICE))
    made.output("status", status)
    made.output("gas", gas)
    fork = world(hardfork, {TARGET: code})
    fleets = {each: Fleet(fork, ROWS, specialise=each) for each in ("off", mode)}
    narrow, wide = to_words([0, 1] * 3, ROWS), to_words([0, 1, 2**64 - 1, 2**128 - 1, 2**255, 2**256 - 1], ROWS)
    seen = set()
    for step in range(120):
        found = {each: fleet.run(made, word=wide if step > 60 else narrow, threads=1) for each, fleet in fleets.items()}
        assert [list(each["gas"]) for each in found.values()] == [list(found["off"]["gas"])] * 2
        assert set(found[mode].status("status")) == {REVERTED if code is CLEARS_AND_REVERTS else SUCCESS}
        seen |= set(found["off"]["gas"])
        if step % 40 == 39:
            fleets[mode].finish_compiling()
    assert sum(each["hits"] for each in fleets[mode].program_statistics()) > 0
    assert len(seen) > 1, "the gas depends on the word"


# -- storage that a destruction or a creation clears ------------------------------------------------------------------

HEIR = "0x" + BOB.hex()
CREATED = keccak256(b"\xff" + MAKER + bytes(32) + keccak256(b""))[12:]
SLOTS = {5: 77, 6: 0}


def reading(place: bytes) -> Program:
    """A whole step whose call varies, and which reads two slots that nobody writes."""
    made = Program()
    _, _, words = made.call(Template(READER, bytes(32), {0: made.input("word")}, sender=ALICE), returns=1)
    made.output("word", words[0])
    for slot in SLOTS:
        made.output(str(slot), made.load(place, slot))
    return made


def by_call(to: bytes, *, whole: bool) -> Callable[[Fleet], None]:
    """Change the first row by a program that calls `to`."""

    def change(fleet: Fleet) -> None:
        made = Program(whole=whole)
        made.call(Template(to, b"", sender=ALICE), mask=made.input("mask"))
        fleet.run(made, mask=np.arange(ROWS) == 0, threads=1)

    return change


def by_row(to: bytes) -> Callable[[Fleet], None]:
    """Change the first row by a transaction of a fork."""

    def change(fleet: Fleet) -> None:
        fork = fleet.fork(0)
        fork.send(to, sender=ALICE)
        fleet.set_row(0, fork)

    return change


WAYS = {"a call": by_call(DOOMED, whole=False), "a step": by_call(DOOMED, whole=True), "set_row": by_row(DOOMED)}
MAKING = {"a call": by_call(MAKER, whole=False), "a step": by_call(MAKER, whole=True), "set_row": by_row(MAKER)}


def slots_read(hardfork: str, place: bytes, change: Callable[[Fleet], None], mode: str) -> list[list[int]]:
    """What the rows read before and after the change of the first one."""
    codes = {READER: returning("0 CALLDATALOAD"), MAKER: returning("0 0 0 0 CREATE2")}
    codes[DOOMED] = assemble(f"{HEIR} SELFDESTRUCT")
    fork, made = world(hardfork, codes, {place: SLOTS}), reading(place)
    fleet = Fleet(fork, ROWS, specialise=mode)
    seen = []
    for step in range(120):
        if step == 60:
            fleet.finish_compiling()
            hits = sum(each["hits"] for each in fleet.program_statistics())
            assert (hits > 0) == (mode != "off")
            change(fleet)
        found = fleet.run(made, word=step, threads=1)
        seen += [list(found[str(slot)]) for slot in SLOTS]
    return [*seen, fleet.identities()]  # type: ignore[list-item]


@pytest.mark.parametrize("mode", REPLAYING)
@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("hardfork", ["london", "paris", "shanghai", "cancun", "osaka"])
def test_slots_of_a_destroyed_account_are_read_as_they_are(hardfork: str, how: str, mode: str) -> None:
    wanted = slots_read(hardfork, DOOMED, WAYS[how], "off")
    cleared = hardfork in ("london", "paris", "shanghai")
    assert wanted[-3] == [0 if cleared else 77] + [77] * (ROWS - 1)
    assert slots_read(hardfork, DOOMED, WAYS[how], mode) == wanted


@pytest.mark.parametrize("mode", REPLAYING)
@pytest.mark.parametrize("how", MAKING)
@pytest.mark.parametrize("hardfork", ["london", "shanghai", "prague", "osaka"])
def test_slots_below_a_created_account_are_read_as_they_are(hardfork: str, how: str, mode: str) -> None:
    wanted = slots_read(hardfork, CREATED, MAKING[how], "off")
    assert wanted[-3] == [0] + [77] * (ROWS - 1)
    assert slots_read(hardfork, CREATED, MAKING[how], mode) == wanted
