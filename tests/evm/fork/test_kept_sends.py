"""Transactions that are replayed by paths of other senders leave what the interpreter leaves."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from mayavi import Fork
from mayavi.errors import ReplayDiffers
from mayavi.evm.hashing import keccak256
from mayavi.evm.receipt import Receipt
from tests.evm.assembler import assemble
from tests.evm.bytecode import word
from tests.evm.fork.view_batches import CONTRACT, LIBRARY, OTHER

FEE = 2
TOKEN = assemble(
    "CALLER 0 MSTORE 9 32 MSTORE 64 0 KECCAK256 DUP1 SLOAD 36 CALLDATALOAD DUP1 DUP3 LT @poor JUMPI"
    f" SWAP1 SUB SWAP1 SSTORE 4 CALLDATALOAD 0 MSTORE 64 0 KECCAK256 DUP1 SLOAD 36 CALLDATALOAD ADD {FEE} SLOAD ADD"
    " SWAP1 SSTORE 1 SLOAD 1 ADD 1 SSTORE TIMESTAMP 36 CALLDATALOAD ADD 0 MSTORE CALLER ORIGIN ADD 32 0 LOG1"
    " 1 0 MSTORE 32 0 RETURN :poor 5 0 MSTORE 32 0 REVERT"
)
"""Moves an amount from the caller to an account, which gets what slot 2 says besides; counts in slot 1."""
THROUGH = "68 0 0 CALLDATACOPY 32 0 68 0 {value} 0x{to} GAS {how} @done JUMPI 32 0 REVERT :done 32 0 RETURN"
CALLING = assemble(THROUGH.format(value="0", to=CONTRACT.hex(), how="CALL"))
DELEGATING = assemble(THROUGH.format(value="", to=CONTRACT.hex(), how="DELEGATECALL"))
SENDERS = [bytes.fromhex(f"5e0de2{number:034x}") for number in range(1, 41)]
SELECTOR = bytes.fromhex("a9059cbb")
ROUNDS = 400


def entry(account: bytes) -> int:
    return int.from_bytes(keccak256(bytes(12) + account + word(9)), "big")


def world(mode: str) -> Fork:
    fork = Fork.empty(hardfork="osaka")
    fork.set_block(number=1_000, timestamp=50_000)
    for place, code in ((CONTRACT, TOKEN), (LIBRARY, CALLING), (OTHER, DELEGATING)):
        fork.set_code(place, code)
        fork.set_storage(place, FEE, 3)
        for sender in (*SENDERS, CONTRACT, LIBRARY, OTHER, bytes(20)):
            fork.set_storage(place, entry(sender), 10_000)
    for sender in SENDERS:
        fork.set_balance(sender, 10**19)
    frozen = fork.frozen()
    frozen.specialise = mode
    return frozen


def orders(seed: int = 1) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Targets, senders and calldata: transfers to others and to oneself, of nothing and of too much."""
    rng = random.Random(seed)
    senders = [*SENDERS, CONTRACT, bytes(20)]
    for _ in range(ROUNDS):
        sender = rng.choice(senders)
        receiver = sender if rng.random() < 0.1 else rng.choice(senders)
        amount = rng.choice([0, 1, rng.randrange(3_000), 10**6, 2**256 - 1])
        yield rng.choice([CONTRACT, LIBRARY, OTHER]), sender, SELECTOR + bytes(12) + receiver + word(amount)


def play(fork: Fork, seed: int = 1) -> list[Receipt]:
    receipts = []
    for number, (to, sender, data) in enumerate(orders(seed)):
        receipts.append(fork.send(to, data, sender, check=False))
        if number % 7 == 0:
            fork.mine(1, 12)
    return receipts


def hits(fork: Fork) -> int:
    return sum(site["hits"] for site in fork.statistics())


@pytest.mark.parametrize("mode", ["on", "check"])
def test_any_sender_takes_the_path_of_another(mode: str) -> None:
    told, fork = world("off"), world(mode)
    assert play(fork) == play(told)
    assert fork.digest() == told.digest()
    assert hits(fork) > ROUNDS / 2
    assert not told.statistics()


@pytest.mark.parametrize("mode", ["on", "check"])
def test_gas_is_paid_for(mode: str) -> None:
    told, fork = world("off"), world(mode)
    for each in (told, fork):
        each.set_block(coinbase=SENDERS[0])  # it pays too
    with told.paying(7, 3, SENDERS), fork.paying(7, 3, SENDERS):
        assert play(fork) == play(told)
    assert fork.digest() == told.digest()
    assert fork.balance(SENDERS[0]) == told.balance(SENDERS[0]) != 10**19
    assert fork.balance(SENDERS[1]) < 10**19
    assert hits(fork) > ROUNDS / 2


def test_a_write_to_a_folded_slot_and_new_code_are_seen() -> None:
    told, fork = world("off"), world("check")
    for change in range(3):
        for each in (told, fork):
            if change == 1:
                each.set_storage(CONTRACT, FEE, 11)
            elif change == 2:
                each.set_code(CONTRACT, TOKEN.replace(b"\x60\x05", b"\x60\x06"))
        assert play(fork, change) == play(told, change)
    assert fork.digest() == told.digest()


def test_reverts_take_replayed_transactions_back() -> None:
    fork = world("on")
    play(fork)
    before = fork.digest()
    with fork.snapshot():
        play(fork, 2)
        assert fork.digest() != before
    assert fork.digest() == before
    assert fork.copy().digest() == before


def test_code_and_slots_that_are_taken_back_are_seen() -> None:
    told, fork = world("off"), world("on")
    for seed in range(4):
        with told.snapshot(), fork.snapshot():
            for each in (told, fork):
                each.set_storage(CONTRACT, FEE, 11 + seed)
                if seed % 2:
                    each.set_code(CONTRACT, TOKEN.replace(b"\x60\x05", b"\x60\x06"))
            assert play(fork, seed) == play(told, seed)
        assert play(fork, seed) == play(told, seed)
    assert fork.digest() == told.digest()
    assert hits(fork) > ROUNDS


def test_forks_of_a_world_share_paths() -> None:
    first = world("on")
    second, told = first.copy(), first.copy()
    told.specialise = "off"
    play(first)
    recorded = sum(site["recordings"] for site in first.statistics())
    assert play(second) == play(told)
    assert second.digest() == told.digest() == first.digest()
    assert sum(site["recordings"] for site in first.statistics()) < 2 * recorded


def test_a_lost_guard_is_found() -> None:
    fork = world("check")
    fork._evm.seed_fault()
    with pytest.raises(ReplayDiffers, match="differs from the interpreted one"):
        play(fork)
