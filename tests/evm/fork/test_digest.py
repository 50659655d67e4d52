"""The digest of a fork is the hash of its canonical bytes, whatever of them is kept."""

from __future__ import annotations

from hashlib import sha256

from mayavi import Fork
from mayavi._kernel import Evm, State
from tests.evm.assembler import returning
from tests.states import state_of

ALICE, BOB, CONTRACT = b"\xa1" * 20, b"\xb0" * 20, b"\xc0" * 20


def check(fork: Fork) -> str:
    """The digest, which must be that of the bytes and of the same state, loaded anew."""
    dump = state_of(fork)
    assert fork.digest() == sha256(dump).hexdigest()
    loaded = State.load(dump)
    assert loaded.dump() == dump
    assert loaded.digest() == Evm.from_state(loaded).digest() == fork.digest()
    return fork.digest()


def test_every_change_gives_another_digest_and_is_taken_back() -> None:
    empty = Fork.empty()
    empty.set_code(CONTRACT, returning(1))
    empty.set_storage(CONTRACT, 3, 7)
    empty.set_balance(BOB, 1)
    world = empty.frozen()
    begin = check(world)
    changes = [
        lambda fork: fork.set_balance(ALICE, 5),
        lambda fork: fork.set_balance(BOB, 0),
        lambda fork: fork.set_storage(CONTRACT, 3, 0),
        lambda fork: fork.set_storage(CONTRACT, 2, 9),
        lambda fork: fork.set_code(CONTRACT, returning(2)),
        lambda fork: fork.set_code(ALICE, returning(1)),
        lambda fork: fork.set_code(CONTRACT, b""),
        lambda fork: fork.mine(3),
    ]
    seen = {begin}
    for change in changes:
        fork = world.copy()
        with fork.snapshot():
            change(fork)
            seen.add(check(fork))
        assert check(fork) == begin
    assert len(seen) == 1 + len(changes)


def test_copies_of_a_world_that_end_alike_have_one_digest() -> None:
    world = Fork.replica("ethereum")
    ends = []
    for amounts in ((1, 2), (2, 2)):
        fork = world.copy()
        for amount in amounts:
            fork.deal("USDC", ALICE, amount)
        fork.mine(5)
        ends.append(check(fork))
    assert ends[0] == ends[1] != check(world)
