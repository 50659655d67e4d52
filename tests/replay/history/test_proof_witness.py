"""Neighbours of removed slots, found in proofs of the state after the removal."""

from __future__ import annotations

import re
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayavi._kernel import Evm, MissingState, Witness
from mayavi.evm.hashing import keccak256
from mayavi.replay.history.proof_witness import find_neighbour
from tests.evm.witness.oracle_state import OracleAccount, OracleState

VAULT = bytes.fromhex("00000000000000000000000000000000000a11ce")


def state_with(slots: dict[int, int]) -> OracleState:
    others = {keccak256(bytes([n]))[:20]: OracleAccount(balance=n) for n in range(1, 5)}
    return OracleState({VAULT: OracleAccount(1, 7, b"\x00", slots), **others})


def slots_at(*prefixes: str) -> list[int]:
    """Different slots whose hashed keys begin with the prefixes, in order."""
    found: list[int] = []
    for prefix in prefixes:
        keys = ((slot, keccak256(slot.to_bytes(32, "big")).hex()) for slot in count())
        found.append(next(slot for slot, key in keys if key.startswith(prefix) and slot not in found))
    return found


def root_without(slots: dict[int, int], removed: list[int]) -> tuple[bytes | None, bytes, int]:
    """State root after clearing `removed`, from proofs of these slots alone; the true root; neighbours found.

    The root is None if the proofs do not suffice.
    """
    before, after = state_with(slots), state_with({slot: slots[slot] for slot in slots if slot not in removed})
    nodes, spare = before.proof(VAULT, *removed), after.proof(VAULT, *removed)
    for neighbours in range(len(slots) + 1):
        evm = Evm.from_witness(1, "cancun", Witness(before.root, nodes, before.codes))
        for slot in removed:
            evm.set_storage(VAULT, slot, 0)
        try:
            return evm.state_root(), after.root, neighbours
        except MissingState as error:
            told: str = error.args[0]
        wanted = re.search(r"trie node 0x([0-9a-f]{64}), its only neighbour", told)
        assert wanted is not None, told
        found = find_neighbour(spare, bytes.fromhex(wanted[1]))
        if found is None:
            return None, after.root, neighbours
        assert keccak256(found).hex() == wanted[1]
        nodes.append(found)
    raise AssertionError("a neighbour was found again and again")


@pytest.mark.parametrize(
    ("kept", "known"),
    [(("a",), True), (("ab1", "ab2"), True), (("a1", "a2", "a3"), False)],
    ids=["a leaf", "an extension", "a branch"],
)
def test_the_neighbour_of_a_removed_slot_is_found(kept: tuple[str, ...], known: bool) -> None:
    removed, *others = slots_at("1", *kept)
    root, expected, neighbours = root_without({slot: 1000 + slot for slot in (removed, *others)}, [removed])
    assert (root == expected) == known
    assert neighbours == known


@pytest.mark.slow(1)
@settings(max_examples=25)
@given(
    slots=st.dictionaries(st.integers(0, 400), st.integers(1, 2**256 - 1), min_size=2, max_size=40),
    data=st.data(),
)
def test_a_root_from_proofs_is_the_true_one_or_none(slots: dict[int, int], data: st.DataObject) -> None:
    removed = data.draw(st.lists(st.sampled_from(sorted(slots)), unique=True, min_size=1))
    root, expected, _ = root_without(slots, removed)
    assert root in (None, expected)
