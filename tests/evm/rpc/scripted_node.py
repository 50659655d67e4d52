"""A node on loopback that serves a small invented chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mayavi.evm.rpc.header import header_hash
from tests.evm.rpc.faulty_server import FaultyServer

ALICE = bytes.fromhex("a11ce00000000000000000000000000000000001")
POOL = bytes.fromhex("9001000000000000000000000000000000000002")
POOL_CODE = bytes.fromhex("60016002600355")


def invented_block(number: int, parent: bytes = bytes(32), **changes: str) -> dict[str, Any]:
    """A block whose hash follows from its header, as on a real chain (Shanghai's form)."""
    block: dict[str, Any] = {
        "parentHash": "0x" + parent.hex(),
        "sha3Uncles": "0x" + "1d" * 32,
        "miner": "0x" + "c0" * 20,
        "stateRoot": "0x" + "5a" * 32,
        "transactionsRoot": "0x" + "56" * 32,
        "receiptsRoot": "0x" + "57" * 32,
        "logsBloom": "0x" + "00" * 256,
        "difficulty": "0x0",
        "number": hex(number),
        "gasLimit": hex(30_000_000),
        "gasUsed": hex(21_000 * number),
        "timestamp": hex(1_700_000_000 + 12 * number),
        "extraData": "0x",
        "mixHash": "0x" + f"{number:064x}",
        "nonce": "0x0000000000000000",
        "baseFeePerGas": hex(10**9),
        "withdrawalsRoot": "0x" + "58" * 32,
        "transactions": [],
        "uncles": [],
        "size": "0x220",
        **changes,
    }
    block["hash"] = "0x" + header_hash(block).hex()
    return block


class ScriptedNode(FaultyServer):
    """A node whose chain is invented, so that a test knows every value of it."""

    def __init__(self, chain_id: int = 1, height: int = 100) -> None:
        self.chain_id = chain_id
        self.batch_limit: int | None = None
        self.eip1898 = True
        self.methods: dict[str, Callable[..., Any]] = {
            "eth_chainId": lambda: hex(self.chain_id),
            "eth_blockNumber": lambda: hex(len(self.blocks) - 1),
            "eth_getBlockByNumber": self._block_by_number,
            "eth_getBlockByHash": self._block_by_hash,
            "eth_getBalance": lambda who, at: self._state(at, hex(self.accounts.get(who, (0, 0, b""))[0])),
            "eth_getTransactionCount": lambda who, at: self._state(at, hex(self.accounts.get(who, (0, 0, b""))[1])),
            "eth_getCode": lambda who, at: self._state(at, "0x" + self.accounts.get(who, (0, 0, b""))[2].hex()),
            "eth_getStorageAt": lambda who, slot, at: self._state(
                at, f"0x{self.storage.get((who, int(slot, 16)), 0):064x}"
            ),
        }
        self.accounts = {_hex(ALICE): (5 * 10**18, 7, b""), _hex(POOL): (0, 1, POOL_CODE)}
        self.storage = {(_hex(POOL), slot): slot * 1000 + 1 for slot in range(2000)}
        self.rebuild(height)
        super().__init__()

    def rebuild(self, height: int, **changes: str) -> None:
        """Replace the chain, as a restarted or reorganised node would."""
        self.blocks: list[dict[str, Any]] = []
        parent = bytes(32)
        for number in range(height + 1):
            self.blocks.append(invented_block(number, parent, **changes))
            parent = bytes.fromhex(self.blocks[-1]["hash"][2:])

    def answer(self, question: Any) -> Any:
        calls = question if isinstance(question, list) else [question]
        if isinstance(question, list) and self.batch_limit is not None and len(calls) > self.batch_limit:
            return [_refused(calls[0]["id"], -32600, "batch too large")]
        answers = [self._answer(call) for call in calls]
        return answers if isinstance(question, list) else answers[0]

    def _answer(self, call: dict[str, Any]) -> dict[str, Any]:
        method = self.methods.get(call["method"])
        if method is None:
            return _refused(call["id"], -32601, f"the method {call['method']} does not exist")
        try:
            return {"jsonrpc": "2.0", "id": call["id"], "result": method(*call["params"])}
        except LookupError:
            return _refused(call["id"], -32000, "block hash is not on this chain")
        except ValueError as error:
            return _refused(call["id"], -32602, str(error))

    def _block_by_number(self, number: str, full: bool) -> Any:
        index = len(self.blocks) - 1 if number in ("latest", "safe", "finalized") else int(number, 16)
        return self.blocks[index] if index < len(self.blocks) else None

    def _block_by_hash(self, block_hash: str, full: bool) -> Any:
        return next((block for block in self.blocks if block["hash"] == block_hash), None)

    def _state(self, at: Any, value: str) -> str:
        if isinstance(at, dict):
            if not self.eip1898:
                raise ValueError("invalid argument 1: cannot unmarshal object into Go value of type string")
            if self._block_by_hash(at["blockHash"], False) is None:
                raise LookupError
        return value


@contextmanager
def scripted_node(chain_id: int = 1, height: int = 100) -> Iterator[ScriptedNode]:
    node = ScriptedNode(chain_id, height)
    try:
        yield node
    finally:
        node.close()


def _hex(address: bytes) -> str:
    return "0x" + address.hex()


def _refused(key: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": key, "error": {"code": code, "message": message}}
