"""What a fork has read once is read again as soon as the state is another one."""

from __future__ import annotations

from mayavi.evm.fork import Fork

ALICE = b"\xa1" * 20


def test_a_read_is_repeated_after_every_change() -> None:
    fork, reads = Fork.empty(), []

    def read() -> int:
        reads.append(fork.balance(ALICE))
        return reads[-1]

    def told() -> int:
        return fork.read_once("balance", read)

    assert (told(), told(), reads) == (0, 0, [0])
    fork.set_balance(ALICE, 5)
    assert (told(), told(), reads) == (5, 5, [0, 5])
    with fork.snapshot():
        fork.set_balance(ALICE, 6)
        assert told() == 6
    assert told() == 5
    fork.mine()
    assert told() == 5
    assert reads == [0, 5, 6, 5, 5]
    assert fork.copy().read_once("balance", lambda: 1) == 1


def test_digests_follow_the_state() -> None:
    fork = Fork.empty()
    first = fork.digest()
    assert fork.digest() == first
    with fork.snapshot():
        fork.set_balance(ALICE, 5)
        assert fork.digest() != first
    assert fork.digest() == first
