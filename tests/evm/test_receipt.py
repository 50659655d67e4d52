"""Receipts: compared, shown and pickled by value; their logs are converted when somebody looks."""

from __future__ import annotations

import pickle

import pytest

from mayavi import Fork
from mayavi.evm import receipt as receipts
from mayavi.evm.receipt import Receipt

ALICE, BOB = bytes(19) + b"\x0a", bytes(19) + b"\x0b"
TRANSFER = bytes.fromhex("a9059cbb") + BOB.rjust(32, b"\0") + (5).to_bytes(32, "big")


@pytest.fixture
def fork() -> Fork:
    fork = Fork.replica("ethereum").copy()
    fork.deal("USDC", ALICE, 100)
    return fork


def test_equal_transactions_have_equal_receipts_and_other_ones_do_not(fork: Fork) -> None:
    one, other = (copy.send("USDC", TRANSFER, ALICE) for copy in (fork.copy(), fork.copy()))
    assert one == other
    assert hash(one) == hash(other)
    assert one is not other
    failed = fork.send("USDC", TRANSFER, BOB, check=False)
    assert one != failed
    assert one != one.logs
    assert (failed.success, failed.reason, failed.logs) == (False, "revert", ())


def test_a_pickled_receipt_is_the_same_one(fork: Fork) -> None:
    receipt = fork.send("USDC", TRANSFER, ALICE)
    again = pickle.loads(pickle.dumps(receipt))
    assert again == receipt
    assert again.logs == receipt.logs
    assert repr(again) == repr(receipt)
    assert repr(receipt).startswith(f"Receipt(success=True, gas_used={receipt.gas_used}, output=b'")


def test_logs_are_converted_once_and_only_if_asked_for(fork: Fork, monkeypatch: pytest.MonkeyPatch) -> None:
    converted = []
    whole = receipts._LOG
    monkeypatch.setattr(receipts, "_LOG", lambda log: converted.append(log) or whole(log))
    receipt: Receipt = fork.send("USDC", TRANSFER, ALICE)
    assert receipt.success
    assert receipt.gas_used
    assert receipt.output
    assert not converted
    assert receipt.logs is receipt.logs
    assert len(converted) == 1
    assert receipt.logs[0].address == fork.address_of("USDC")
