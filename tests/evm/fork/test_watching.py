"""Watchers, reverts, gas payments, dry runs and time measurement of a fork."""

from __future__ import annotations

import pytest

from mayavi import Fork, ether, gwei
from mayavi.errors import BadInteger, CallReverted, TransactionInvalid
from mayavi.evm.fleet import Fleet
from mayavi.evm.sent import Sent

ALICE, BOB = b"\xa1" * 20, b"\xb0" * 20
REVERTS = bytes.fromhex("60006000fd")  # the runtime: revert with nothing
STORES = bytes.fromhex("4360005500")  # the runtime: block number into slot 0
PLACE, OTHER = b"\xc0" * 20, b"\xc1" * 20


@pytest.fixture
def fork() -> Fork:
    fork = Fork.empty()
    fork.set_code(PLACE, STORES)
    fork.set_code(OTHER, REVERTS)
    fork.set_balance(ALICE, ether(10))
    return fork


def test_every_transaction_is_told_failed_ones_included_until_it_is_stopped(fork: Fork) -> None:
    seen: list[Sent] = []
    stop = fork.watch(seen.append)
    kept = fork.send(PLACE, b"\1", sender=ALICE)
    with pytest.raises(CallReverted):
        fork.send(OTHER, b"\1", sender=ALICE)
    created = fork.deploy(bytes.fromhex("00"), sender=BOB)
    fork.call(PLACE, b"\1")
    stop()
    fork.send(PLACE, b"\1", sender=ALICE)
    assert [(each.to, each.sender, each.receipt.success, each.fee_wei) for each in seen] == [
        (PLACE, ALICE, True, 0),
        (OTHER, ALICE, False, 0),
        (None, BOB, True, 0),
    ]
    assert seen[0].receipt is kept
    assert seen[2].receipt.created == created
    assert [each.marker for each in seen] == sorted(each.marker for each in seen)


def test_what_a_snapshot_undoes_is_told_by_its_marker(fork: Fork) -> None:
    seen: list[Sent] = []
    back: list[int] = []
    fork.watch(seen.append, back.append)
    fork.send(PLACE, b"\1")
    before = fork.marker
    with fork.snapshot():
        fork.send(PLACE, b"\1")
    assert back == [before]
    assert [each.marker > before for each in seen] == [False, True]


def test_the_marker_changes_with_every_write_and_comes_back_with_a_snapshot(fork: Fork) -> None:
    writes = [
        lambda: fork.send(PLACE, b"\1"),
        lambda: fork.set_balance(BOB, 1),
        lambda: fork.set_nonce(BOB, 1),
        lambda: fork.set_code(BOB, b"\0"),
        lambda: fork.set_storage(PLACE, 1, 1),
        lambda: fork.mine(1),
        lambda: fork.set_block(base_fee=7),
        lambda: fork.deploy(b"\0"),
        lambda: fork.create_at(b"\xcc" * 20, b"\0"),
        lambda: fork.trace(PLACE, b"\1", commit=True),
        lambda: fork.deal("ETH", BOB, 9),
    ]
    start, seen = fork.marker, {fork.marker}
    with fork.snapshot():
        for write in writes:
            write()
            assert fork.marker not in seen
            seen.add(fork.marker)
    assert fork.marker == start
    fork.set_balance(BOB, 3)
    assert fork.marker not in seen  # never used again
    here = fork.marker
    fork.call(PLACE, b"\1")
    fork.trace(PLACE, b"\1")
    assert (fork.balance(BOB), fork.marker) == (3, here)
    snapshot = fork.snapshot()
    fork.set_balance(BOB, 4)
    snapshot.keep()
    assert fork.marker != here


def test_inside_paying_senders_pay_for_their_gas(fork: Fork) -> None:
    seen: list[Sent] = []
    fork.watch(seen.append)
    producer = fork.block["coinbase"]
    with fork.paying(gwei(10), gwei(1)):
        used = fork.send(PLACE, b"\1", sender=ALICE).gas_used
        assert fork.block["base_fee"] == gwei(10)
        with pytest.raises(TransactionInvalid, match="lack of funds"):
            fork.send(PLACE, b"\1", sender=BOB)
    assert fork.balance(ALICE) == ether(10) - used * gwei(11)
    assert fork.balance(producer) == used * gwei(1)
    assert [each.fee_wei for each in seen] == [used * gwei(11)]
    fork.send(PLACE, b"\1", sender=BOB)  # free again
    assert seen[-1].fee_wei == 0


def test_where_payers_are_named_nobody_else_pays(fork: Fork) -> None:
    with fork.paying(gwei(10), 0, {ALICE}):
        fork.send(PLACE, b"\1", sender=BOB)
        fork.send(PLACE, b"\1", sender=ALICE)
    assert fork.balance(BOB) == 0
    assert fork.balance(ALICE) < ether(10)


def test_rules_set_before_are_there_after_paying(fork: Fork) -> None:
    fork.set_rules(charge_fees=True, check_balance=True)
    with fork.paying(gwei(1)):
        pass
    with pytest.raises(TransactionInvalid, match="lack of funds"):
        fork.send(PLACE, b"\1", sender=BOB, gas_price=1)


def test_a_price_that_is_none_is_refused(fork: Fork) -> None:
    with pytest.raises(BadInteger), fork.paying(-1):
        pass


def test_a_dry_run_changes_nothing_and_calls_no_watcher(fork: Fork) -> None:
    seen: list[Sent] = []
    fork.watch(seen.append)
    before = fork.marker, fork.digest()
    with fork.paying(0, gwei(1)), fork.dry_run():
        fork.send(PLACE, b"\1", sender=BOB)
        assert fork.storage(PLACE, 0) == fork.block_number
    assert (fork.marker, fork.digest()) == before
    assert seen == []


def test_the_kernel_counts_its_own_seconds(fork: Fork) -> None:
    before, twin = fork.kernel_seconds, fork.copy()
    assert twin.kernel_seconds == 0
    for each in (fork, twin):
        each.send(PLACE, b"\1", sender=ALICE)
        with each.snapshot():
            each.mine(3)
        each.call_many(PLACE, [b"\1", b"\2"])
    assert 0 < fork.kernel_seconds - before < 60
    assert 0 < twin.kernel_seconds < 60
    assert fork.digest() == twin.digest() == fork.copy().digest() == fork.frozen().digest()
    assert len(Fleet(fork, 2)) == 2
    with pytest.raises(CallReverted):
        fork.call(OTHER, b"\1")


def test_a_fork_knows_how_many_threads_its_batches_use(fork: Fork) -> None:
    datas = [bytes([number]) for number in range(64)]
    alone = fork.call_many(PLACE, datas)
    fork.threads = 2
    assert fork.call_many(PLACE, datas) == alone
    assert fork.copy().threads == 2
