"""Node on loopback that serves the state before one recorded block, and its receipts."""

from __future__ import annotations

from typing import Any

from mayavi.replay.case import ExpectedReceipt
from mayavi.replay.case_state import CaseState
from mayavi.replay.chain_block import ChainBlock
from tests.evm.rpc.faulty_server import FaultyServer


class CaseNode(FaultyServer):
    """Server of one case. What the case lacks reads as zero: on the chain it was never asked for."""

    def __init__(self, block: ChainBlock, state: CaseState, receipts: list[ExpectedReceipt], *, tracer: bool) -> None:
        self.block, self.state, self.receipts, self.tracer = block, state, receipts, tracer
        self.at = {"blockHash": "0x" + block.header.parent_hash.hex()}
        super().__init__()

    def answer(self, question: Any) -> Any:
        calls = question if isinstance(question, list) else [question]
        answers = [
            {"jsonrpc": "2.0", "id": call["id"], **self._answer(call["method"], call["params"])} for call in calls
        ]
        return answers if isinstance(question, list) else answers[0]

    def _answer(self, method: str, params: list[Any]) -> dict[str, Any]:
        state_reads = ("eth_getBalance", "eth_getTransactionCount", "eth_getCode", "eth_getStorageAt")
        if method in state_reads:
            if params[-1] != self.at:
                return {"error": {"code": -32000, "message": "header for hash not found"}}
            return {"result": self._read(method, bytes.fromhex(params[0][2:]), params)}
        if method == "eth_getBlockByNumber" and params[0] == hex(self.block.number):
            return {"result": self.block.content}
        if method == "debug_traceBlockByHash" and self.tracer:
            return {
                "result": [{"result": self._prestate() if index == 0 else {}} for index in range(len(self.receipts))]
            }
        return {"error": {"code": -32601, "message": f"the method {method} does not exist"}}

    def _read(self, method: str, address: bytes, params: list[Any]) -> str:
        facts = self.state.facts
        balance, nonce, code = facts.accounts.get(address, (0, 0, b""))
        if method == "eth_getStorageAt":
            return f"0x{facts.slots.get(address, {}).get(int(params[1], 16), 0):064x}"
        return {"eth_getBalance": hex(balance), "eth_getTransactionCount": hex(nonce)}.get(method, "0x" + code.hex())

    def _prestate(self) -> dict[str, Any]:
        """Everything the block reads, as if its first transaction did."""
        return {
            "0x" + address.hex(): {
                "balance": hex(balance),
                "nonce": nonce,
                "code": "0x" + code.hex(),
                "storage": {
                    f"0x{slot:064x}": f"0x{value:064x}"
                    for slot, value in self.state.facts.slots.get(address, {}).items()
                },
            }
            for address, (balance, nonce, code) in self.state.facts.accounts.items()
        }
