"""What a fork has read once is read again as soon as the state is another one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mayavi.evm.fork import Fork
from mayavi.evm.specialise import specialised
from tests.evm.assembler import returning

ALICE = b"\xa1" * 20
CONTRACT = b"\xc0" * 20


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


def test_copies_share_what_they_read_until_one_writes() -> None:
    fork = Fork.empty()
    fork.set_balance(ALICE, 5)
    one, other = fork.copy(share_reads=True), fork.copy(share_reads=True)
    assert one.read_once("balance", lambda: one.balance(ALICE)) == 5
    assert other.read_once("balance", lambda: 1) == 5
    with other.snapshot():
        other.set_balance(ALICE, 6)
        assert other.read_once("balance", lambda: other.balance(ALICE)) == 6
    assert one.read_once("balance", lambda: 1) == 5
    fork.set_balance(ALICE, 7)
    assert fork.copy(share_reads=True).read_once("balance", lambda: 7) == 7
    assert one.read_once("balance", lambda: 1) == 5


def test_digests_follow_the_state() -> None:
    fork = Fork.empty()
    first = fork.digest()
    assert fork.digest() == first
    with fork.snapshot():
        fork.set_balance(ALICE, 5)
        assert fork.digest() != first
    assert fork.digest() == first


@pytest.mark.parametrize(("mode", "remembered"), [("on", True), ("check", False), ("off", False)])
def test_a_run_remembers_calls_until_the_state_changes(
    mode: str, remembered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork = Fork.empty()
    fork.set_code(CONTRACT, returning("1 SLOAD CALLER ADD 4 CALLDATALOAD ADD TIMESTAMP ADD"))
    data = bytes(36)
    with specialised(mode) as work:
        fork.read_within(work, seed=1)
        first = fork.call(CONTRACT, data)
        assert fork.call(CONTRACT, data, ALICE) != first != fork.call(CONTRACT, bytes(35) + b"\1")
        calls: list[int] = []
        monkeypatch.setattr(fork, "_evm", Counting(fork._evm, calls))
        assert fork.call(CONTRACT, data) == first
        assert calls == ([] if remembered else [1])
        monkeypatch.undo()
        changes: list[Callable[[], None]] = [lambda: fork.set_storage(CONTRACT, 1, 7), fork.mine]
        for change in changes:
            with fork.snapshot():
                change()
                assert fork.call(CONTRACT, data) != first
            assert fork.call(CONTRACT, data) == first
        fork.set_code(CONTRACT, returning("5"))
        assert int.from_bytes(fork.call(CONTRACT, data)) == 5
        assert not fork.copy()._remembers


class Counting:
    """A kernel that counts single calls."""

    def __init__(self, evm: object, calls: list[int]) -> None:
        self._evm, self._calls = evm, calls

    def call(self, *arguments: object) -> bytes:
        self._calls.append(1)
        output: bytes = self._evm.call(*arguments)  # type: ignore[attr-defined]
        return output
