"""Snapshots nest, and going back is exact: against a plain dictionary that is simply copied."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.errors import StateError
from mayavi.evm.fork import Fork
from tests.evm.bytecode import STORE, initcode, word

ALICE = b"\xa1" * 20
PLACES = [bytes([n]) * 20 for n in (1, 2, 3)]

step = st.one_of(
    st.tuples(st.just("store"), st.sampled_from(PLACES), st.integers(0, 3), st.integers(0, 2**256 - 1)),
    st.tuples(st.just("balance"), st.sampled_from(PLACES), st.just(0), st.integers(0, 2**256 - 1)),
    st.tuples(st.just("transact"), st.sampled_from(PLACES), st.integers(0, 3), st.integers(0, 2**64)),
    st.tuples(st.just("mine"), st.just(b""), st.integers(0, 5), st.integers(0, 100)),
    st.tuples(st.just("snapshot"), st.just(b""), st.just(0), st.just(0)),
    st.tuples(st.just("revert"), st.just(b""), st.integers(0, 4), st.just(0)),
    st.tuples(st.just("keep"), st.just(b""), st.integers(0, 4), st.just(0)),
)


def observe(fork: Fork) -> dict[object, int]:
    seen: dict[object, int] = {"number": fork.block_number, "time": fork.timestamp}
    for place in PLACES:
        seen[place] = fork.balance(place)
        for slot in range(4):
            seen[place, slot] = fork.storage(place, slot)
    return seen


@given(st.lists(step, max_size=40))
def test_nested_snapshots_behave_like_copies_of_a_dictionary(steps: list[tuple[str, bytes, int, int]]) -> None:
    fork = Fork.empty()
    fork.set_block(number=0, timestamp=0)
    for place in PLACES:
        fork.create_at(place, initcode(STORE), sender=ALICE)
    model: dict[object, int] = observe(fork)
    open_snapshots = []
    for kind, place, index, value in steps:
        match kind:
            case "store":
                fork.set_storage(place, index, value)
                model[place, index] = value
            case "balance":
                fork.set_balance(place, value)
                model[place] = value
            case "transact":
                fork.send(place, word(index) + word(value), sender=ALICE)
                model[place, index] = value
            case "mine":
                fork.mine(index, value)
                model["number"] += index
                model["time"] += value
            case "snapshot":
                open_snapshots.append((fork.snapshot(), copy.copy(model)))
            case "revert" if open_snapshots:
                index %= len(open_snapshots)
                snapshot, model = open_snapshots[index]
                fork.revert(snapshot)
                del open_snapshots[index:]
            case "keep" if open_snapshots:
                index %= len(open_snapshots)
                open_snapshots[index][0].keep()
                del open_snapshots[index:]
    assert observe(fork) == model
    for snapshot, earlier in reversed(open_snapshots):
        fork.revert(snapshot)
        assert observe(fork) == earlier


def test_a_with_block_goes_back_even_after_an_error() -> None:
    fork = Fork.empty()
    before = fork.digest()

    def fail_half_way() -> None:
        with fork.snapshot():
            fork.set_balance(ALICE, 5)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    assert fork.digest() == before


def test_creation_and_destruction_are_taken_back() -> None:
    fork = Fork.empty(hardfork="london")
    destroys_itself = bytes.fromhex("33ff")
    place = fork.deploy(initcode(destroys_itself), sender=ALICE)
    fork.set_storage(place, 1, 11)
    before = fork.digest()
    with fork.snapshot():
        fork.send(place, b"\1", sender=ALICE)
        assert fork.code(place) == b""
        assert fork.storage(place, 1) == 0
        fork.create_at(place, initcode(STORE), sender=ALICE)
        assert fork.storage(place, 1) == 0
    assert fork.digest() == before
    assert fork.storage(place, 1) == 11


def test_a_closed_or_foreign_snapshot_is_refused() -> None:
    fork, other = Fork.empty(), Fork.empty()
    outer, inner = fork.snapshot(), fork.snapshot()
    fork.revert(outer)
    with pytest.raises(StateError, match=f"snapshot {inner.id} is closed"):
        fork.revert(inner)
    with pytest.raises(StateError, match="another fork"):
        other.revert(fork.snapshot())


def test_thousands_of_open_snapshots_are_fine() -> None:
    fork = Fork.empty()
    snapshots = []
    for value in range(3_000):
        snapshots.append(fork.snapshot())
        fork.set_balance(ALICE, value + 1)
    fork.revert(snapshots[1_500])
    assert fork.balance(ALICE) == 1_500
    fork.revert(snapshots[0])
    assert fork.balance(ALICE) == 0
