"""Calls on many forks at once, and outcomes that copies of one world share."""

from __future__ import annotations

from typing import Any

import pytest

from mayavi import Fork
from mayavi.evm.abi.erc20 import BALANCE_OF
from mayavi.evm.fork.together import call_each
from mayavi.evm.specialise import specialised
from mayavi.protocols.tokens import Erc20
from tests.states import state_of

ALICE, BOB = b"\x0a" * 20, b"\x0b" * 20


@pytest.fixture(scope="module")
def world() -> Fork:
    return Fork.replica("ethereum").frozen()


def copies(world: Fork, number: int, *, share: bool, mode: str = "on") -> list[Fork]:
    found = [world.copy() for _ in range(number)]
    with specialised(mode) as work:
        for each in found:
            each.read_within(work, seed=1)
            if share:
                each.share_outcomes()
    return found


def balance(fork: Fork, holder: bytes) -> tuple[bytes, bytes]:
    return fork.address_of("USDC"), BALANCE_OF + holder.rjust(32, b"\0")


@pytest.mark.parametrize("share", [False, True])
def test_outputs_are_those_of_single_calls(world: Fork, share: bool) -> None:
    forks = copies(world, 5, share=share)
    for number, fork in enumerate(forks):
        fork.deal("USDC", ALICE, number // 2)
    calls = [balance(world, ALICE), balance(world, BOB)]
    assert call_each(forks, calls) == [[fork.call(*call) for call in calls] for fork in forks]
    assert [int.from_bytes(first or b"") for first, _ in call_each(forks, calls)] == [0, 0, 1, 1, 2]


def test_a_call_that_fails_has_no_output(world: Fork) -> None:
    forks = copies(world, 2, share=True)
    unknown = world.address_of("USDC"), b"\xff\xff\xff\xff"
    assert [outputs[0] for outputs in call_each(forks, [unknown])] == [None, None]


def transfers(fork: Fork, amounts: list[int]) -> list[Any]:
    """Send USDC from Alice to Bob; return what each receipt says."""
    usdc = Erc20(fork, "USDC")
    receipts = [usdc.contract.transfer.send(BOB, amount, sender=ALICE, check=False) for amount in amounts]
    return [(each.success, each.gas_used, each.output, [log.topics for log in each.logs]) for each in receipts]


def test_shared_transactions_leave_the_same_state(world: Fork) -> None:
    """Equal runs share outcomes; one that holds other values, or is at another time, finds its own."""
    held = [10, 10, 10, 7, 3, 10, 10]
    plain, sharing = copies(world, len(held), share=False, mode="off"), copies(world, len(held), share=True)
    for forks in (plain, sharing):
        for fork, amount in zip(forks, held, strict=True):
            fork.deal("USDC", ALICE, amount)
        forks[5].mine(3)
        forks[6].set_balance(ALICE, 5)
    amounts = [1, 4, 4]
    assert [transfers(each, amounts) for each in sharing] == [transfers(each, amounts) for each in plain]
    assert [state_of(each) for each in sharing] == [state_of(each) for each in plain]


def test_a_shared_transaction_is_taken_back_by_a_snapshot(world: Fork) -> None:
    first, second = copies(world, 2, share=True)
    for fork in (first, second):
        fork.deal("USDC", ALICE, 10)
    transfers(first, [4])
    before = state_of(second)
    with second.snapshot():
        transfers(second, [4])
        assert Erc20(second, "USDC").balance_of(BOB) == 4
    assert state_of(second) == before


def test_a_copy_does_not_share(world: Fork) -> None:
    (shared,) = copies(world, 1, share=True)
    assert shared._evm.shares
    assert not shared.copy()._evm.shares
