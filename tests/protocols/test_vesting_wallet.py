"""OpenZeppelin's VestingWallet from its npm artifact: amounts, times and beneficiary."""

from __future__ import annotations

import pytest

from mayavi import Fork
from mayavi.errors import ActionRefused, CallReverted
from mayavi.protocols import Erc20, VestingWallet

PLACE, TEAM, STRANGER = (bytes([number]) * 20 for number in (0x7E, 0x7A, 0x57))


@pytest.fixture
def fork() -> Fork:
    return Fork.replica("base")


def test_a_line_from_start_to_end(fork: Fork) -> None:
    now = fork.timestamp
    wallet = VestingWallet.place(fork, PLACE, beneficiary=TEAM, start=now + 100, duration=1_000)
    fork.deal("USDC", PLACE, 10**9)
    assert (wallet.beneficiary, wallet.start, wallet.duration) == (TEAM, now + 100, 1_000)
    assert [wallet.vested("USDC", now + after) for after in (0, 100, 350, 1_100, 9_999)] == [
        0,
        0,
        250_000_000,
        10**9,
        10**9,
    ]
    with pytest.raises(ActionRefused, match="no USDC is releasable"):
        wallet.release("USDC")
    fork.mine(1, 350)
    assert wallet.releasable("USDC") == wallet.vested("USDC") == 250_000_000
    assert wallet.release("USDC", sender=STRANGER) == 250_000_000
    assert (wallet.released("USDC"), wallet.releasable("USDC")) == (250_000_000, 0)
    assert Erc20(fork, "USDC").balance_of(TEAM) == 250_000_000
    fork.mine(1, 5_000)
    assert wallet.release("USDC") == 750_000_000


def test_a_cliff_is_one_second_and_none_at_all_divides_by_zero(fork: Fork) -> None:
    now = fork.timestamp
    wallet = VestingWallet.place(fork, PLACE, beneficiary=TEAM, start=now + 9, duration=1)
    fork.deal("USDC", PLACE, 77)
    assert [wallet.vested("USDC", now + after) for after in (9, 10, 11)] == [0, 77, 77]
    without = VestingWallet.place(fork, STRANGER, beneficiary=TEAM, start=now, duration=0)
    with pytest.raises(CallReverted, match="division"):
        without.releasable("USDC")
