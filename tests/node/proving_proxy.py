"""A proxy that adds `eth_getProof` to a node that lacks it, from tries of py-trie."""

from __future__ import annotations

from typing import Any

from tests.evm.rpc.proving_node import Prover
from tests.node.faulty_proxy import FaultyProxy
from tests.node.hardhat import Hardhat


class ProvingProxy(FaultyProxy):
    """Proxy that adds `eth_getProof` to a node; `lies` replaces the value that the node reads from a slot."""

    def __init__(self, node: Hardhat, prover: Prover) -> None:
        self.prover = prover
        self.lies: dict[int, int] = {}
        super().__init__(node)

    def answer(self, question: Any) -> Any:
        calls = question if isinstance(question, list) else [question]
        answers = [self._one(call) for call in calls]
        return answers if isinstance(question, list) else answers[0]

    def _one(self, call: dict[str, Any]) -> Any:
        if call["method"] == "eth_getProof":
            return {"jsonrpc": "2.0", "id": call["id"], "result": self.prover.answer(*call["params"])}
        answer = super().answer(call)
        if call["method"] == "eth_getStorageAt" and int(call["params"][1], 16) in self.lies:
            answer["result"] = f"0x{self.lies[int(call['params'][1], 16)]:064x}"
        return answer
