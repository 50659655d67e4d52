"""Check the fields of a node's receipt that follow from the block: indices, bloom, fee, created contract."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mayavi.evm.hashing import create_address, keccak256
from mayavi.evm.rpc.answers import BadValue, data, quantity
from mayavi.replay.blocks import Difference
from mayavi.replay.chain_block import BlockTransaction, ChainBlock

BLOOM_BYTES = 256
_Fault = tuple[str, str, str]


def receipt_field_differences(
    block: ChainBlock, raw: list[dict[str, Any]], executed: list[tuple[bool, int, list[Any]]]
) -> dict[int, Difference]:
    """Return the first wrong field of each receipt, by transaction; fields that a node leaves out are not checked.

    `executed` are the receipts of the replay: status, gas used and logs.
    """
    found: dict[int, Difference] = {}
    cumulative, first_log = 0, 0
    for transaction, answer, (success, gas_used, logs) in zip(block.transactions, raw, executed, strict=False):
        cumulative += gas_used
        expected = {
            "transactionIndex": transaction.index,
            "blockNumber": block.number,
            "type": transaction.kind,
            "status": int(success),
            "cumulativeGasUsed": cumulative,
            "effectiveGasPrice": effective_gas_price(block, transaction),
        }
        faults = [*_numbers(answer, expected), *_texts(answer, block, transaction, success, logs)]
        faults += _log_places(answer, block, transaction, first_log)
        if faults:
            field, theirs, ours = faults[0]
            found[transaction.index] = Difference(field, theirs, ours, transaction.index, "0x" + transaction.hash.hex())
        first_log += len(logs)
    return found


def effective_gas_price(block: ChainBlock, transaction: BlockTransaction) -> int:
    """Price of a unit of gas that the sender paid: with a tip, the base fee plus the tip, up to the maximum."""
    content = block.content["transactions"][transaction.index]
    tip = content.get("maxPriorityFeePerGas")
    if tip is None or block.header.base_fee is None:
        return transaction.gas_price
    return min(transaction.gas_price, block.header.base_fee + quantity(tip, 128))


def logs_bloom(logs: list[Any]) -> bytes:
    """Bloom filter of the addresses and topics of `logs`."""
    bits = 0
    for address, topics, _ in logs:
        for entry in (address, *topics):
            digest = keccak256(entry)
            for at in (0, 2, 4):
                bits |= 1 << (int.from_bytes(digest[at : at + 2]) & 2047)
    return bits.to_bytes(BLOOM_BYTES)


def _numbers(answer: dict[str, Any], expected: dict[str, int]) -> Iterator[_Fault]:
    for field, want in expected.items():
        if answer.get(field) is None:
            continue
        try:
            got = quantity(answer[field])
        except BadValue:
            yield field, str(answer[field]), str(want)
            continue
        if got != want:
            yield field, str(got), str(want)


def _texts(
    answer: dict[str, Any], block: ChainBlock, transaction: BlockTransaction, success: bool, logs: list[Any]
) -> Iterator[_Fault]:
    created = None
    if transaction.to is None:
        nonce = quantity(block.content["transactions"][transaction.index]["nonce"], 64)
        created = create_address(transaction.sender, nonce)
    expected: dict[str, bytes | None] = {
        "from": transaction.sender,
        "to": transaction.to,
        "logsBloom": logs_bloom(logs),
        "transactionHash": transaction.hash,
        "blockHash": block.header.hash,
    }
    if created is None or success:  # nodes differ on failed creations
        expected["contractAddress"] = created
    for field, want in expected.items():
        if field in answer and not _same(answer[field], want):
            yield field, _shown(answer[field]), "none" if want is None else _shown("0x" + want.hex())


def _log_places(
    answer: dict[str, Any], block: ChainBlock, transaction: BlockTransaction, first: int
) -> Iterator[_Fault]:
    for position, log in enumerate(answer.get("logs") or []):
        numbers = {
            "logIndex": first + position,
            "transactionIndex": transaction.index,
            "blockNumber": block.number,
        }
        for field, got, want in _numbers(log, numbers):
            yield f"log {position} {field}", got, want
        for field, wanted in (("transactionHash", transaction.hash), ("blockHash", block.header.hash)):
            if field in log and not _same(log[field], wanted):
                yield f"log {position} {field}", _shown(log[field]), "0x" + wanted.hex()


def _same(value: object, wanted: bytes | None) -> bool:
    if value is None or wanted is None:
        return value is None and wanted is None
    try:
        return data(value) == wanted
    except BadValue:
        return False


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:40]}…{text[-8:]}"
