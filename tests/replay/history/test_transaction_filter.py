"""Filters by address, selector and topic."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mayavi.errors import BadAddress, UsageError
from mayavi.evm.hashing import keccak_text
from mayavi.replay.case import ExpectedReceipt
from mayavi.replay.chain_block import BlockTransaction
from mayavi.replay.history.transaction_filter import TransactionFilter

ALICE, BOB, TOKEN = (bytes([each]) * 20 for each in (1, 2, 3))
TRANSFER = keccak_text("Transfer(address,address,uint256)")
CALL = BlockTransaction(0, bytes(32), ALICE, BOB, 0, bytes.fromhex("a9059cbb") + bytes(64), 21_000, 0, 2)
CREATION = BlockTransaction(1, bytes(32), ALICE, None, 0, bytes.fromhex("a9059cbb00"), 21_000, 0, 2)
RECEIPT = ExpectedReceipt(bytes(32), True, 21_000, ((TOKEN, (TRANSFER, bytes(32)), b""),))
SILENT = ExpectedReceipt(bytes(32), True, 21_000, ())


def hexed(raw: bytes) -> str:
    return "0x" + raw.hex()


@pytest.mark.parametrize("address", [ALICE, BOB, TOKEN])
def test_an_address_is_sender_target_or_emitter(address: bytes) -> None:
    assert TransactionFilter.parse(hexed(address)).matches(CALL, RECEIPT)
    assert TransactionFilter.parse(hexed(address)).matches(CALL, SILENT) == (address != TOKEN)
    assert not TransactionFilter.parse("0x" + "09" * 20).matches(CALL, RECEIPT)


def test_selectors_and_topics_are_hex_or_signatures() -> None:
    signatures = ("transfer(address,uint256)", "transfer(address, uint256)", "transfer(address to, uint amount)")
    for selector in ("0xa9059cbb", "a9059cbb", *signatures):
        chosen = TransactionFilter.parse(selector=selector)
        assert chosen.matches(CALL, SILENT)
        assert not chosen.matches(CREATION, SILENT), "a creation has no selector"
    for topic in (hexed(TRANSFER), "Transfer(address,address,uint256)"):
        assert TransactionFilter.parse(topic=topic).matches(CALL, RECEIPT)
        assert not TransactionFilter.parse(topic=topic).matches(CALL, SILENT)


def test_all_conditions_must_hold() -> None:
    chosen = TransactionFilter.parse(hexed(TOKEN), "0xa9059cbb", hexed(TRANSFER))
    assert chosen.matches(CALL, RECEIPT)
    assert not chosen.matches(CALL, SILENT)
    assert chosen.text == f"address={hexed(TOKEN)} selector=0xa9059cbb topic={hexed(TRANSFER)}"
    assert TransactionFilter.parse().text == ""
    assert TransactionFilter.parse().matches(CREATION, SILENT)


def test_malformed_filters_are_refused() -> None:
    with pytest.raises(UsageError, match="'transfer' is not a selector"):
        TransactionFilter.parse(selector="transfer")
    with pytest.raises(UsageError, match=r"'transfer\(address,uint' is not a valid signature"):
        TransactionFilter.parse(selector="transfer(address,uint")
    with pytest.raises(UsageError, match="unknown Solidity type 'foo'"):
        TransactionFilter.parse(topic="Transfer(foo)")
    with pytest.raises(UsageError, match="'0x12' is not a topic"):
        TransactionFilter.parse(topic="0x12")
    with pytest.raises(BadAddress):
        TransactionFilter.parse("0x12")


def test_transactions_are_chosen_by_hash_before_their_receipts_are_known() -> None:
    other = replace(CALL, hash=b"\x01" * 32)
    chosen = TransactionFilter(hashes=frozenset({CALL.hash}))
    assert chosen.may_match(CALL)
    assert not chosen.may_match(other)
    assert not chosen.matches(other, RECEIPT)
    assert chosen.text == TransactionFilter(hashes=frozenset({CALL.hash})).text
    assert chosen.text != TransactionFilter(hashes=frozenset({other.hash})).text
