"""What a world holds, read from its canonical dump, is what was put in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.errors import SnapshotCorrupt
from mayavi.evm.fork import Fork
from mayavi.evm.snapshot.contents import AccountContents, WorldContents, differences

addresses = st.binary(min_size=20, max_size=20)
words = st.integers(0, 2**256 - 1)
accounts = st.builds(
    AccountContents,
    balance=words,
    nonce=st.integers(1, 2**64 - 2),
    code=st.sampled_from([b"", b"\x00", b"\x60\x01\x60\x02\x01"]),
    complete=st.just(True),
    slots=st.dictionaries(words, st.integers(1, 2**256 - 1), max_size=4),
)
worlds = st.dictionaries(addresses, accounts, max_size=5)


def fork_of(world: dict[bytes, AccountContents]) -> Fork:
    fork = Fork.empty(chain_id=10, hardfork="cancun")
    fork.set_block(number=7, timestamp=8)
    for address, account in world.items():
        fork.set_balance(address, account.balance)
        fork.set_nonce(address, account.nonce)
        fork.set_code(address, account.code)
        for slot, value in account.slots.items():
            fork.set_storage(address, slot, value)
    return fork


def contents_of(world: dict[bytes, AccountContents]) -> WorldContents:
    return WorldContents.of(fork_of(world).freeze().dump())


@given(worlds)
def test_contents_are_what_was_written(world: dict[bytes, AccountContents]) -> None:
    contents = contents_of(world)
    assert contents.accounts == world
    assert (contents.chain_id, contents.hardfork, contents.closed) == (10, "cancun", True)
    assert (contents.block["number"], contents.block["timestamp"]) == (7, 8)


@given(worlds, worlds)
def test_worlds_differ_exactly_where_their_values_do(
    one: dict[bytes, AccountContents], two: dict[bytes, AccountContents]
) -> None:
    empty = AccountContents(0, 0, b"", True, {})
    expected = set()
    for address in one.keys() | two.keys():
        mine, theirs = one.get(address, empty), two.get(address, empty)
        expected |= {
            (address, field, None)
            for field in ("balance", "nonce", "code")
            if getattr(mine, field) != getattr(theirs, field)
        }
        keys = mine.slots.keys() | theirs.slots.keys()
        expected |= {(address, "slot", key) for key in keys if mine.slots.get(key, 0) != theirs.slots.get(key, 0)}
    found = list(differences(contents_of(one), contents_of(two)))
    assert {(each.address, each.field, each.slot) for each in found} == expected
    assert len(found) == len(expected)


def test_an_unknown_slot_is_not_a_zero_one() -> None:
    def partial(slots: dict[int, int]) -> WorldContents:
        return WorldContents(1, False, "shanghai", {}, {}, {bytes(20): AccountContents(0, 0, b"", False, slots)})

    (difference,) = differences(partial({}), partial({5: 0}))
    assert (difference.slot, difference.before, difference.after) == (5, None, 0)


@pytest.mark.parametrize("damage", [lambda dump: dump[:-1], lambda dump: dump + b"\0", lambda dump: b"XXXX" + dump[4:]])
def test_bytes_that_are_no_dump_are_refused(damage) -> None:
    dump = fork_of({bytes(20): AccountContents(1, 1, b"\x00", True, {1: 1})}).freeze().dump()
    with pytest.raises(SnapshotCorrupt):
        WorldContents.of(damage(dump))
