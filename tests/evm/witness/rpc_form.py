"""Recorded witnesses of Holesky in the form of a node's answers."""

from __future__ import annotations

import json
from typing import Any

import rlp

from mayavi.evm.witness.block_witness import BlockWitness
from mayavi.evm.witness.spelling import header_of, transaction_of

NUMBERS = ("difficulty", "number", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas", "blobGasUsed", "excessBlobGas")


def encoded_header(header: dict[str, str]) -> str:
    fields = [
        int(value, 16) if name in NUMBERS else bytes.fromhex(value[2:])
        for name, value in header.items()
        if name != "hash"
    ]
    return "0x" + rlp.encode(fields).hex()


def rpc_block(given: Any) -> dict[str, Any]:
    """The block as `eth_getBlockByNumber` returns it, with what nodes add."""
    header = header_of(given["header"])
    witness = BlockWitness.of(given)
    transactions = []
    for index, each in enumerate(given["transaction"]):
        fields = json.loads(transaction_of(each).encoded)
        more = {"hash": each["hash"], "from": each["from"], "transactionIndex": hex(index)}
        place = {"blockHash": "0x" + witness.hash.hex(), "blockNumber": header["number"]}
        if fields["type"] == "0x0":
            fields["v"] = hex(int(fields["chainId"], 16) * 2 + 35 + int(fields.pop("yParity"), 16))
        else:
            fee, tip = int(fields["maxFeePerGas"], 16), int(fields["maxPriorityFeePerGas"], 16)
            fields["gasPrice"] = hex(min(fee, tip + int(header["baseFeePerGas"], 16)))
            fields["v"] = fields["yParity"]
        transactions.append(fields | more | place)
    more = {"hash": "0x" + witness.hash.hex(), "size": "0x1234", "uncles": [], "totalDifficulty": "0x0"}
    return header | more | {"transactions": transactions, "withdrawals": given["withdrawals"]}
