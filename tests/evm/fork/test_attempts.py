"""Transactions sent in one kernel call leave what they leave one by one, or nothing."""

from __future__ import annotations

import pytest

from mayavi import Fork
from mayavi.errors import MissingStateError
from mayavi.evm.fork.calls import Step
from mayavi.evm.sent import Sent
from tests.evm.assembler import assemble
from tests.evm.bytecode import word
from tests.states import state_of

ALICE = b"\xa1" * 20
PLACE, REFUSING, LYING, NOBODY = (bytes([kind]) * 20 for kind in (0xC0, 0xC1, 0xC2, 0xC3))
ADDS = assemble(
    "CALLDATASIZE 32 LT @write JUMPI 0 SLOAD 0 MSTORE 32 0 RETURN"
    " :write 0 SLOAD 0 CALLDATALOAD ADD DUP1 0 SSTORE DUP1 0 MSTORE CALLER 32 0 LOG1 32 0 RETURN"
)
"""Adds a number of more than 32 bytes' calldata to slot 0 and emits the sum; returns slot 0 for shorter calldata."""
MOST = word(2**256 - 1)


@pytest.fixture(params=["off", "on", "check"])
def fork(request: pytest.FixtureRequest) -> Fork:
    fork = Fork.empty(hardfork="osaka")
    fork.set_code(PLACE, ADDS)
    fork.set_code(REFUSING, assemble("0 0 REVERT"))
    fork.set_code(LYING, assemble("32 0 RETURN"))
    fork.set_balance(ALICE, 10**19)
    fork.set_balance(fork.block["coinbase"], 1)
    frozen = fork.frozen()
    frozen.specialise = request.param
    return frozen


def adding(number: int) -> Step:
    return PLACE, word(number) + b"\0", None


def reading(least: int, most: int) -> Step:
    return PLACE, b"\0", (word(least), word(most))


def test_an_attempt_is_its_transactions_one_by_one(fork: Fork) -> None:
    other = fork.copy()
    for round_ in range(1, 90):  # long enough for paths to be recorded
        steps = [reading(0, 2**256 - 1), adding(round_), adding(2), reading(0, 2**200)]
        single = [other.send(PLACE, data, ALICE) for _, data, bounds in steps if bounds is None]
        assert fork.attempt(steps, ALICE) == single
    assert (fork.marker, fork.nonce(ALICE)) == (other.marker, other.nonce(ALICE))
    assert state_of(fork) == state_of(other)


def test_watchers_see_its_transactions_and_fees(fork: Fork) -> None:
    other, seen, expected = fork.copy(), list[Sent](), list[Sent]()
    fork.watch(seen.append)
    other.watch(expected.append)
    with fork.paying(7, 2), other.paying(7, 2):
        assert fork.attempt([adding(1), adding(2)], ALICE)
        for number in (1, 2):
            other.send(PLACE, adding(number)[1], ALICE)
    assert seen == expected
    assert [each.fee_wei for each in seen] == [each.receipt.gas_used * 9 for each in seen]
    assert state_of(fork) == state_of(other)


@pytest.mark.parametrize(
    "last",
    [(REFUSING, b"\0", None), (LYING, b"\0", None), (NOBODY, b"\0", None), (REFUSING, b"\0", (word(0), MOST))],
    ids=["reverts", "returns-false", "no-code", "read-reverts"],
)
def test_what_does_not_go_as_expected_leaves_nothing(fork: Fork, last: Step) -> None:
    seen: list[Sent] = []
    fork.watch(seen.append)
    before, marker = state_of(fork), fork.marker
    for _ in range(70):
        assert fork.attempt([adding(3), last], ALICE) is None
    assert (state_of(fork), fork.marker, seen) == (before, marker, [])


@pytest.mark.parametrize(("bounds", "kept"), [((3, 3), True), ((0, 2), False), ((4, 2**256 - 1), False)])
def test_a_read_sees_what_was_sent_before_it(fork: Fork, bounds: tuple[int, int], kept: bool) -> None:
    assert (fork.attempt([adding(3), reading(*bounds)], ALICE) is not None) is kept
    assert fork.storage(PLACE, 0) == (3 if kept else 0)


def test_who_cannot_pay_for_the_gas_sends_nothing(fork: Fork) -> None:
    with fork.paying(10**18):
        assert fork.attempt([adding(3)], ALICE) is None
    assert (fork.storage(PLACE, 0), fork.nonce(ALICE)) == (0, 0)


def test_nothing_is_sent_where_state_is_missing() -> None:
    fork = Fork.replica("ethereum").copy()
    fork._evm = type(fork._evm)(1, "osaka", closed=False)
    fork._fetcher._evm = fork._evm
    with pytest.raises(MissingStateError):
        fork.balance(ALICE)
    assert fork.attempt([adding(3)], ALICE) is None
