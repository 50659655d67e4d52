"""Headers hash to their block's hash: on real mainnet blocks of every form, and not when a byte differs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from mayavi.evm.rpc.answers import BadValue
from mayavi.evm.rpc.header import Header, header_fields, header_hash
from tests.evm.rpc.scripted_node import invented_block


def test_every_real_block_hashes_to_its_hash(cases: Path) -> None:
    paths = sorted((cases / "mainnet" / "blocks").glob("*/block.json.gz"))
    assert len(paths) == 24
    forms = set()
    for path in paths:
        block = json.loads(gzip.decompress(path.read_bytes()))
        assert "0x" + header_hash(block).hex() == block["hash"], path
        assert header_hash(header_fields(block)).hex() == block["hash"][2:]
        assert Header.parse(block).number == int(path.parent.name)
        forms.add(tuple(name for name in ("baseFeePerGas", "withdrawalsRoot", "blobGasUsed") if name in block))
    assert len(forms) == 4, "before London, London, Shanghai and Cancun"


# The genesis header is known by heart: its hash is written on every Ethereum node.
def test_mainnet_genesis() -> None:
    genesis = invented_block(
        0,
        sha3Uncles="0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
        miner="0x" + "00" * 20,
        stateRoot="0xd7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544",
        transactionsRoot="0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
        receiptsRoot="0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
        difficulty="0x400000000",
        gasLimit="0x1388",
        gasUsed="0x0",
        timestamp="0x0",
        extraData="0x11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa",
        mixHash="0x" + "00" * 32,
        nonce="0x0000000000000042",
    )
    for later in ("baseFeePerGas", "withdrawalsRoot"):
        del genesis[later]
    assert header_hash(genesis).hex() == "d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3"


@pytest.mark.parametrize("field", sorted(header_fields(invented_block(3)).keys() - {"hash"}))
def test_no_field_can_change_without_the_hash(field: str) -> None:
    block = invented_block(3)
    text = block[field]
    changed = {**block, field: text[:-1] + ("1" if text[-1] != "1" else "2") if len(text) > 2 else "0x01"}
    assert header_hash(changed).hex() != block["hash"][2:]


def test_later_forms_differ_from_earlier_ones() -> None:
    shanghai = invented_block(3)
    cancun = {**shanghai, "blobGasUsed": "0x0", "excessBlobGas": "0x20000", "parentBeaconBlockRoot": "0x" + "be" * 32}
    prague = {**cancun, "requestsHash": "0x" + "9e" * 32}
    amsterdam = {**prague, "blockAccessListHash": "0x" + "ba" * 32, "slotNumber": "0x5"}
    assert len({header_hash(block) for block in (shanghai, cancun, prague, amsterdam)}) == 4
    header = Header.parse(cancun)
    assert (header.blob_gas_used, header.excess_blob_gas) == (0, 0x20000)
    assert Header.parse(shanghai).excess_blob_gas is None


@pytest.mark.parametrize("hole", ["withdrawalsRoot", "baseFeePerGas", "logsBloom", "mixHash"])
def test_a_header_with_a_hole_has_no_hash(hole: str) -> None:
    block = invented_block(3) | {
        "blobGasUsed": "0x0",
        "excessBlobGas": "0x0",
        "parentBeaconBlockRoot": "0x" + "be" * 32,
    }
    del block[hole]
    with pytest.raises(BadValue, match=hole):
        header_hash(block)


@pytest.mark.parametrize(
    ("field", "value"),
    [("number", "0x" + "f" * 17), ("miner", "0x00"), ("stateRoot", None), ("timestamp", 12), ("hash", "0x12")],
)
def test_malformed_fields_are_refused(field: str, value: object) -> None:
    with pytest.raises(BadValue):
        Header.parse(invented_block(3) | {field: value})
