"""Node on loopback that serves one recorded block with its execution witness."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from mayavi._kernel import MissingState
from mayavi.evm.hashing import keccak256
from mayavi.evm.witness.block_witness import BlockWitness
from mayavi.evm.witness.spelling import header_of
from tests.evm.rpc.faulty_server import FaultyServer
from tests.evm.witness.rpc_form import encoded_header, rpc_block


class RecordedNode(FaultyServer):
    """Server of a block, its parent's header, its receipts and `debug_executionWitness`.

    Single values can be read if `reads` is set. The recording has one header before the block, and the hashes of
    earlier ones.
    """

    def __init__(self, recorded: dict[str, Any], parent: dict[str, Any]) -> None:
        self.block = rpc_block(recorded)
        header = header_of(parent["header"])
        self.parent = header | {"hash": self.block["parentHash"], "transactions": [], "uncles": [], "withdrawals": []}
        self.witness: Any = {
            "state": recorded["states"],
            "codes": recorded["codes"],
            "keys": ["0x" + "11" * 20],
            "headers": [encoded_header(header)],
            "blockHashes": recorded["block_hashes"],
        }
        self.reads = False
        self._recorded = BlockWitness.of(recorded)
        self.chain_id = recorded["chain_id"]
        self.receipts = receipts_of(recorded, self.block)
        super().__init__()

    @property
    def number(self) -> int:
        return int(self.block["number"], 16)

    def answer(self, question: Any) -> Any:
        calls = question if isinstance(question, list) else [question]
        answers = [
            {"jsonrpc": "2.0", "id": call["id"], **self._answer(call["method"], call["params"])} for call in calls
        ]
        return answers if isinstance(question, list) else answers[0]

    def _answer(self, method: str, params: list[Any]) -> dict[str, Any]:
        blocks = {
            self.block["number"]: self.block,
            self.parent["number"]: self.parent,
            "0x0": {"hash": "0x" + "ab" * 32},
        }
        by_hash = {self.parent["hash"]: self.parent, self.block["hash"]: self.block}
        answers: dict[str, Any] = {
            "eth_chainId": lambda: hex(self.chain_id),
            "eth_blockNumber": lambda: self.block["number"],
            "eth_getBlockByNumber": lambda: blocks.get(params[0]),
            "eth_getBlockByHash": lambda: by_hash.get(params[0]),
            "eth_getBlockReceipts": lambda: self.receipts,
            "debug_executionWitness": lambda: self.witness,
        }
        if self.reads and method.startswith("eth_get") and params[-1] == {"blockHash": self.parent["hash"]}:
            return {"result": self._read(method, bytes.fromhex(params[0][2:]), params)}
        if method not in answers:
            return {"error": {"code": -32601, "message": f"the method {method} does not exist"}}
        return {"result": answers[method]()}

    def _read(self, method: str, address: bytes, params: list[Any]) -> str:
        """Read one value of the recorded state. What it lacks reads as zero: the chain did not ask for it."""
        with suppress(MissingState):
            if method == "eth_getStorageAt":
                return f"0x{self._recorded.witness.slot(address, int(params[1], 16)):064x}"
            nonce, balance, _, code_hash = self._recorded.witness.account(address) or (0, 0, b"", b"")
            codes = {keccak256(code): code for code in self._recorded.parts.codes}
            code = "0x" + codes.get(code_hash, b"").hex()
            return {"eth_getBalance": hex(balance), "eth_getTransactionCount": hex(nonce)}.get(method, code)
        return "0x" if method == "eth_getCode" else "0x0"


def receipts_of(recorded: dict[str, Any], block: dict[str, Any]) -> list[dict[str, Any]]:
    """Return receipts whose root is the header's, as `eth_getBlockReceipts` gives them."""
    _, result = BlockWitness.of(recorded).execute()
    assert "0x" + result["receipts_root"].hex() == block["receiptsRoot"]
    found: list[dict[str, Any]] = []
    cumulative = 0
    for transaction, (success, gas_used, logs) in zip(block["transactions"], result["receipts"], strict=True):
        cumulative += gas_used
        found.append(
            {
                "transactionHash": transaction["hash"],
                "status": hex(success),
                "gasUsed": hex(gas_used),
                "cumulativeGasUsed": hex(cumulative),
                "logs": [
                    {
                        "address": "0x" + address.hex(),
                        "topics": ["0x" + topic.hex() for topic in topics],
                        "data": "0x" + data.hex(),
                    }
                    for address, topics, data in logs
                ],
            }
        )
    return found
