"""Transfers and net flows from logs."""

from __future__ import annotations

from mayavi.evm.receipt import Log
from mayavi.protocols.topics import DEPOSIT, TRANSFER, WITHDRAWAL
from mayavi.replay.transactions.token_flows import NOBODY, Holding, net_flows, token_transfers

ALICE, BOB, TOKEN, WETH = (bytes([each]) * 20 for each in (1, 2, 3, 4))


def topic(address: bytes) -> bytes:
    return address.rjust(32, b"\0")


def transfer(sender: bytes, receiver: bytes, amount: int) -> Log:
    return Log(TOKEN, (TRANSFER, topic(sender), topic(receiver)), amount.to_bytes(32))


def test_flows_add_up_over_transfers() -> None:
    logs = [transfer(ALICE, BOB, 5), transfer(BOB, ALICE, 2), transfer(NOBODY, ALICE, 10)]
    flows = net_flows(token_transfers(logs))
    assert flows == {Holding(ALICE, TOKEN): 7, Holding(BOB, TOKEN): 3}


def test_wrapping_counts_once_whether_or_not_the_token_logs_a_transfer_too() -> None:
    deposit = Log(WETH, (DEPOSIT, topic(ALICE)), (9).to_bytes(32))
    withdrawal = Log(WETH, (WITHDRAWAL, topic(ALICE)), (4).to_bytes(32))
    assert net_flows(token_transfers([deposit, withdrawal])) == {Holding(ALICE, WETH): 5}
    minted = Log(WETH, (TRANSFER, topic(NOBODY), topic(ALICE)), (9).to_bytes(32))
    assert net_flows(token_transfers([minted, deposit])) == {Holding(ALICE, WETH): 9}


def test_an_item_of_a_collection_is_a_transfer_and_no_amount() -> None:
    item = Log(TOKEN, (TRANSFER, topic(ALICE), topic(BOB), (77).to_bytes(32)), b"")
    (found,) = token_transfers([item])
    assert (found.token_id, found.receiver) == (77, BOB)
    assert net_flows([found]) == {}
