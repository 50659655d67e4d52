"""The tracer in the place of a transaction in its block: gas, status and logs are those of the receipt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mayavi._kernel import Block, Evm
from mayavi.evm.chains import blob_fee_fraction_at
from mayavi.evm.receipt import frame_tree
from mayavi.evm.witness.block_witness import BlockWitness
from mayavi.replay.case import (
    block_numbers,
    read_block,
    read_bytecodes,
    read_chain,
    read_pre_state,
    read_receipts,
)
from tests.replay.test_requests import BASE_FEE, TIMESTAMP, TIP, block_of, point_after

QUICK = (19_426_587, 19_923_400, 19_933_122, 19_934_116)
"""Small blocks with legacy, fee market, access list and blob transactions."""
CONTRACT = b"\xc0" * 20
CODE = bytes.fromhex("600160005500")
"""Writes 1 into slot 0."""
DELEGATION = b"\xef\x01\x00"


def compared(evm: Evm, block: Block, fraction: int, expected: list[tuple[bool | None, int, list[Any]]]) -> int:
    """Trace all transactions of `block` one after another and compare each with its receipt; return their number."""
    for index, (success, gas_used, logs) in enumerate(expected):
        receipt, frames = evm.trace_in_block(block, index, fraction)
        if success is not None:
            assert receipt.success == success, index
        assert receipt.gas_used == gas_used, index
        assert [(address, list(topics), data) for address, topics, data in receipt.logs] == logs, index
        call = frame_tree(frames)
        assert call.success == receipt.success, index
        spent = receipt.gas_spent - receipt.gas_refunded
        assert gas_used >= spent, index
        assert receipt.gas_spent - call.gas_used >= 21_000, index
        kept = [log for frame in call.walk() for log in frame.logs] if receipt.success else []
        assert len(kept) >= len(logs), index
    return len(expected)


def trace_case(folder: Path, number: int, codes: dict[str, bytes]) -> int:
    block, receipts = read_block(folder, number), read_receipts(folder, number)
    assert receipts is not None
    chain_id, hardfork = read_chain(folder, number, block)
    evm = read_pre_state(folder, number, chain_id, hardfork, codes)
    expected = [
        (each.success, each.gas_used, [(address, list(topics), data) for address, topics, data in each.logs])
        for each in receipts
    ]
    return compared(evm, block, blob_fee_fraction_at(chain_id, block.timestamp, hardfork), expected)


@pytest.fixture(scope="module")
def blocks(cases: Path) -> Path:
    return cases / "mainnet" / "blocks"


@pytest.fixture(scope="module")
def codes(blocks: Path) -> dict[str, bytes]:
    return read_bytecodes(blocks)


@pytest.mark.parametrize("number", QUICK)
def test_every_transaction_of_a_block_is_traced_with_the_gas_of_its_receipt(
    blocks: Path, codes: dict[str, bytes], number: int
) -> None:
    assert trace_case(blocks, number, codes) > 20


@pytest.mark.slow(6)
def test_every_transaction_of_every_case_is_traced_with_the_gas_of_its_receipt(
    blocks: Path, codes: dict[str, bytes]
) -> None:
    assert sum(trace_case(blocks, number, codes) for number in block_numbers(blocks) if number not in QUICK) > 7_000


@pytest.mark.parametrize("name", ["mainnet-23587691", "holesky-2971846"])
def test_a_proven_block_is_traced_with_the_gas_of_its_receipts(cases: Path, name: str) -> None:
    witness = BlockWitness.read(cases / "mainnet" / "witness" / f"{name}.json.gz")
    _, result = witness.execute()
    expected = [(success, gas, list(logs)) for success, gas, logs in result["receipts"]]
    assert compared(witness.evm(), witness.parts.block, witness.blob_fee_fraction, expected) == len(expected) > 8


def signed(kind: int, **fields: Any) -> bytes:
    """A transaction to `CONTRACT` with a made-up signature, which some address must have given."""
    content = {
        "type": hex(kind),
        "chainId": "0x1",
        "nonce": "0x0",
        "gas": hex(200_000),
        "to": "0x" + CONTRACT.hex(),
        "value": "0x0",
        "input": "0x",
        "maxFeePerGas": hex(BASE_FEE + TIP),
        "maxPriorityFeePerGas": hex(TIP),
        "accessList": [],
        "r": hex(point_after(0x7000)),
        "s": hex(0x6000),
        "yParity": "0x0",
        **fields,
    }
    return json.dumps(content).encode()


def world(block: Block) -> Evm:
    evm = Evm(1, "prague", closed=True)
    evm.set_code(CONTRACT, CODE)
    for signer in block.claims()["signers"]:
        evm.set_balance(signer, 10**18)
    return evm


def authorisation() -> dict[str, str]:
    signature = {"r": hex(point_after(0x9000)), "s": "0x1234", "yParity": "0x0"}
    return {"chainId": "0x1", "address": "0x" + CONTRACT.hex(), "nonce": "0x0", **signature}


BLOB = "0x01" + "22" * 31
LISTED = [{"address": "0x" + CONTRACT.hex(), "storageKeys": ["0x" + "00" * 32]}]
KINDS: dict[str, tuple[int, dict[str, Any]]] = {
    "plain": (2, {}),
    "access list": (2, {"accessList": LISTED}),
    "blobs": (3, {"maxFeePerBlobGas": "0x1", "blobVersionedHashes": [BLOB]}),
    "authorisation": (4, {"authorizationList": [authorisation()]}),
}


@pytest.mark.parametrize("name", KINDS)
def test_each_type_of_transaction_is_traced_as_the_block_executes_it(name: str) -> None:
    kind, fields = KINDS[name]
    block, fraction = block_of(signed(kind, **fields)), blob_fee_fraction_at(1, TIMESTAMP)
    replayed, traced = world(block), world(block)
    ((success, gas_used, _),) = replayed.replay(block, fraction)["receipts"]
    receipt, frames = traced.trace_in_block(block, 0, fraction)
    assert (receipt.success, receipt.gas_used) == (success, gas_used) == (True, gas_used)
    assert frames[0]["kind"] == "CALL"
    sender = block.claims()["signers"][0]
    blob_fee = 131_072 if name == "blobs" else 0
    assert traced.balance(sender) == replayed.balance(sender) == 10**18 - gas_used * (BASE_FEE + TIP) - blob_fee
    plain, _ = world(block).trace(CONTRACT, b"", sender, 0, 200_000)
    assert (plain.gas_used != gas_used) == (name in ("access list", "authorisation")), "a call knows neither"
    assert (DELEGATION + CONTRACT in traced.dump()) == (name == "authorisation")


def test_what_replaces_parts_of_the_transaction_keeps_the_rest() -> None:
    block, fraction = block_of(signed(2, accessList=LISTED)), blob_fee_fraction_at(1, TIMESTAMP)
    sender, other = block.claims()["signers"][0], b"\x0d" * 20
    own, _ = world(block).trace_in_block(block, 0, fraction, commit=False)
    longer, _ = world(block).trace_in_block(block, 0, fraction, data=b"\x01" * 10, next_nonce=True)
    assert longer.gas_used == own.gas_used + 10 * 16
    evm = world(block)
    evm.set_balance(other, 10**18)
    evm.set_nonce(other, 7)
    evm.set_code(other, CODE)
    _, frames = evm.trace_in_block(block, 0, fraction, sender=other, value=5)
    assert (frames[0]["from"], frames[0]["value"]) == (other, 5)
    assert (evm.nonce(other), evm.nonce(sender)) == (8, 0)


def test_without_commit_nothing_changes_and_the_environment_stays_if_none_is_given() -> None:
    block = block_of(signed(2))
    evm = world(block)
    evm.set_block(base_fee=BASE_FEE + TIP, number=5)
    before = evm.digest()
    evm.trace_in_block(block, 0, commit=False)
    assert evm.digest() == before
    with pytest.raises(IndexError, match="the block has 1 transactions, none at 1"):
        evm.trace_in_block(block, 1)
    evm.set_block(base_fee=BASE_FEE + TIP + 1)
    with pytest.raises(Exception, match="gas price is less than basefee"):
        evm.trace_in_block(block, 0)
