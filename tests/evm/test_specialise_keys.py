"""Slots whose key follows from other slots: a program's path has the key's value as long as few values come up."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi.evm.fleet import Fleet, Program, Template
from mayavi.evm.hashing import keccak256
from tests.evm.assembler import assemble
from tests.evm.test_specialise import ALICE, TARGET, world

ROWS = 8


def ring(key: str, most: int) -> bytes:
    """Code that writes its first word where slot 0 says, and then moves that on by its second."""
    return assemble(f"0 CALLDATALOAD {key} SSTORE 0 SLOAD 32 CALLDATALOAD ADD {most} AND 0 SSTORE")


KEYS = {
    "array": "0 SLOAD 16 ADD",
    "mapping": "0 SLOAD 0 MSTORE 9 32 MSTORE 64 0 KECCAK256",
}


def course(fleet: Fleet, steps: int = 400) -> list[bytes]:
    program, rng = Program(), np.random.default_rng(4)
    value, by = program.input("value"), program.input("by")
    program.output("status", program.call(Template(TARGET, bytes(64), {0: value, 32: by}, sender=ALICE))[0])
    program.output("at", program.load(TARGET, 0))
    told = []
    for step in range(steps):
        given = {"value": rng.integers(0, 3, ROWS), "by": (rng.random(ROWS) < 0.1).astype(np.int64)}
        told.append(fleet.run(program, threads=1, **given).words.tobytes())
        if step % 40 == 39:
            fleet.finish_compiling()
    return told + fleet.identities()


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("most", [3, 63])
def test_every_mode_gives_the_same(kind: str, most: int) -> None:
    fork = world(ring(KEYS[kind], most))
    told = course(Fleet(fork, ROWS, specialise="off"))
    for mode in ("on", "check"):
        fleet = Fleet(fork, ROWS, specialise=mode)
        assert course(fleet) == told, mode
        (counts,) = fleet.program_statistics()
        assert counts["off"] is None
        assert counts["hits"] > 0
        if mode == "check":
            # Four values of the key are four paths at least; of many values none is part of a path.
            assert counts["paths"] >= 4 if most == 3 else counts["resets"] >= 1


def copied(account: int) -> bytes:
    """Code that adds its first word to the balance of an account, whose key went through copies of memory.

    Account and amount follow a selector of four bytes, as in a call's data. They are copied in words of 32 bytes, so
    that copied words have bytes of both.
    """
    data = f"{account} 4 MSTORE 0 CALLDATALOAD 36 MSTORE"
    copies = " ".join(f"{at} MLOAD {at + 128} MSTORE" for at in (0, 32, 64))
    return assemble(
        f"{data} {copies} 132 MLOAD 0 MSTORE 9 32 MSTORE 64 0 KECCAK256 DUP1 SLOAD 164 MLOAD ADD SWAP1 SSTORE"
    )


def test_bytes_that_were_copied_with_others_are_still_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAYAVI_WHOLE_PROGRAMS", "0")
    account = 0xABCD << 240 | 0x1234_5678
    fork = world(copied(account))
    told = course(Fleet(fork, ROWS, specialise="off"), 40)
    fleet = Fleet(fork, ROWS, specialise="check")
    assert course(fleet, 40) == told
    slot = keccak256(account.to_bytes(32, "big") + (9).to_bytes(32, "big"))
    (key,) = {write.split(" = ")[0] for site in fleet.paths() for path in site["paths"] for write in path["writes"]}
    assert f"0x{slot.hex()}" in key, "the account is the same on every row: nothing is hashed there"
