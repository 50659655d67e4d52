"""Fork backend that sends every call to `hardhat node` over JSON-RPC.

It replaces the kernel behind `Fork`, so a scenario runs on a node unchanged. A read is one `eth_call`; with
`multicall`, reads requested together go through one contract. A transaction is sent and its receipt fetched; the node
mines a block for it, at the time of the simulation's block.
"""

# ruff: noqa: D102  (the methods are those of the kernel's `Evm`)

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from mayavi import _kernel
from mayavi.evm.abi.contract import Function
from mayavi.evm.fork import Fork
from tests.node.hardhat import Hardhat, NodeError

MULTICALL = Function.parse(
    "multicall((address target, uint256 gasLimit, bytes callData)[] calls) "
    "returns (uint256 blockNumber, (bool success, uint256 gasUsed, bytes returnData)[] returnData)"
)
TOGETHER = 50
"""Calls per multicall: more would exceed the gas of an `eth_call`."""
CALL_GAS = 2_000_000
BLOCK_GAS = 30_000_000


@dataclass(frozen=True)
class NodeReceipt:
    """Receipt with the kernel's interface."""

    success: bool
    gas_used: int
    output: bytes
    logs: list[tuple[bytes, list[bytes], bytes]]
    created: bytes | None
    reason: str


@dataclass
class NodeEvm:
    """The part of the kernel's `Evm` used by scenarios, on a node with the same state."""

    node: Hardhat
    moment: dict[str, Any]
    """Block environment, as returned by `Evm.block()`."""
    chain_id: int
    hardfork: str
    multicall: bytes | None = None
    """Address of the multicall contract; None sends each call separately."""
    requests: int = 0
    seconds: float = 0.0
    """Time spent on requests, as `Evm.seconds` counts the kernel's."""
    _impersonated: set[bytes] = field(default_factory=set)
    _moments: dict[str, dict[str, Any]] = field(default_factory=dict)

    def rpc(self, method: str, *parameters: Any) -> Any:
        self.requests += 1
        began = time.perf_counter()
        try:
            return self.node.rpc(method, *parameters)
        finally:
            self.seconds += time.perf_counter() - began

    # -- reading ------------------------------------------------------------------------------------------------------

    def call(
        self, to: bytes, data: bytes, sender: bytes | None = None, value: int = 0, gas: int | None = None
    ) -> bytes:
        question = {"to": _hex(to), "data": _hex(data), "gas": hex(gas or BLOCK_GAS)}
        if sender is not None:
            question["from"] = _hex(sender)
        if value:
            question["value"] = hex(value)
        try:
            return _bytes(self.rpc("eth_call", question, "latest"))
        except NodeError as error:
            raise _kernel.Reverted(str(error.args[0]), _revert_data(error), 0) from None

    def call_many(
        self, to: bytes, datas: list[bytes], sender: bytes | None, gas: int | None, threads: int, verify: bool
    ) -> tuple[list[bytes | None], list[Any], dict[str, int]]:
        outputs: list[bytes | None] = []
        failed: list[Any] = []
        if self.multicall is None:
            for index, data in enumerate(datas):
                try:
                    outputs.append(self.call(to, data, sender, 0, gas))
                except _kernel.Reverted as error:
                    outputs.append(None)
                    failed.append((index, error))
            return outputs, failed, {}
        for start in range(0, len(datas), TOGETHER):
            asked = [(to, CALL_GAS, data) for data in datas[start : start + TOGETHER]]
            _, answers = MULTICALL.decode(self.call(self.multicall, MULTICALL.encode(asked), gas=10 * BLOCK_GAS))
            for index, (success, _, output) in enumerate(answers, start):
                outputs.append(output if success else None)
                if not success:
                    failed.append((index, _kernel.Reverted("reverted", output, 0)))
        return outputs, failed, {}

    def call_words(
        self,
        to: bytes,
        template: bytes,
        offsets: list[int],
        words: NDArray[np.uint8],
        count: int,
        sender: bytes | None,
        gas: int | None,
        threads: int,
        verify: bool,
    ) -> tuple[NDArray[np.uint8], list[Any], list[Any], dict[str, int]]:
        datas = []
        for row in words:
            filled = bytearray(template)
            for offset, word in zip(offsets, row, strict=True):
                filled[offset : offset + 32] = word.tobytes()
            datas.append(bytes(filled))
        outputs, failed, _ = self.call_many(to, datas, sender, gas, threads, verify)
        found = np.zeros((len(datas), count, 32), dtype=np.uint8)
        short = []
        for index, output in enumerate(outputs):
            if output is not None and len(output) < 32 * count:
                short.append((index, len(output)))
            elif output is not None:
                found[index] = np.frombuffer(output[: 32 * count], dtype=np.uint8).reshape(count, 32)
        return found, failed, short, {}

    def storage(self, address: bytes, slot: int) -> int:
        return int(self.rpc("eth_getStorageAt", _hex(address), hex(slot), "latest"), 16)

    def balance(self, address: bytes) -> int:
        return int(self.rpc("eth_getBalance", _hex(address), "latest"), 16)

    def nonce(self, address: bytes) -> int:
        return int(self.rpc("eth_getTransactionCount", _hex(address), "latest"), 16)

    def code(self, address: bytes) -> bytes:
        return _bytes(self.rpc("eth_getCode", _hex(address), "latest"))

    def has_code(self, address: bytes) -> bool:
        return True  # nobody asks a node for that before each call

    @property
    def block_number(self) -> int:
        return int(self.moment["number"])

    @property
    def timestamp(self) -> int:
        return int(self.moment["timestamp"])

    def block(self) -> dict[str, Any]:
        return dict(self.moment)

    def digest(self) -> str:
        return ""  # a node does not say

    # -- acting -------------------------------------------------------------------------------------------------------

    def transact(
        self,
        to: bytes | None,
        data: bytes,
        sender: bytes,
        value: int = 0,
        gas: int | None = None,
        gas_price: int = 0,
        priority_fee: int | None = None,
    ) -> NodeReceipt:
        if sender not in self._impersonated:
            self.rpc("hardhat_impersonateAccount", _hex(sender))
            self._impersonated.add(sender)
        self.rpc("evm_setNextBlockTimestamp", hex(self.moment["timestamp"]))
        transaction = {"from": _hex(sender), "data": _hex(data), "gas": hex(gas or BLOCK_GAS), "gasPrice": "0x0"}
        if to is not None:
            transaction["to"] = _hex(to)
        if value:
            transaction["value"] = hex(value)
        output, reason = b"", "success"
        try:
            identity = self.rpc("eth_sendTransaction", transaction)
        except NodeError as error:
            identity, output, reason = error.args[1]["txHash"], _revert_data(error), "revert"
        receipt = self.rpc("eth_getTransactionReceipt", identity)
        logs = [
            (_bytes(log["address"]), [_bytes(each) for each in log["topics"]], _bytes(log["data"]))
            for log in receipt["logs"]
        ]
        created = receipt.get("contractAddress")
        success = receipt["status"] == "0x1"
        return NodeReceipt(
            success, int(receipt["gasUsed"], 16), output, logs, _bytes(created) if created else None, reason
        )

    def attempt(self, *_steps: Any) -> None:
        return None  # transactions are sent one by one

    def set_storage(self, address: bytes, slot: int, value: int) -> None:
        self.rpc("hardhat_setStorageAt", _hex(address), hex(slot), f"0x{value:064x}")

    def set_balance(self, address: bytes, amount: int) -> None:
        self.rpc("hardhat_setBalance", _hex(address), hex(amount))

    def set_nonce(self, address: bytes, nonce: int) -> None:
        self.rpc("hardhat_setNonce", _hex(address), hex(nonce))

    def set_code(self, address: bytes, code: bytes) -> None:
        self.rpc("hardhat_setCode", _hex(address), _hex(code))

    def set_rules(self, **_rules: Any) -> None:
        """Do nothing: gas is free on this node."""

    def set_block(self, **fields: Any) -> None:
        self.moment |= {name: value for name, value in fields.items() if value is not None and name in self.moment}

    def advance(self, blocks: int, seconds: int) -> None:
        self.moment["number"] += blocks
        self.moment["timestamp"] += seconds
        self.rpc("evm_setNextBlockTimestamp", hex(self.moment["timestamp"]))
        self.rpc("evm_mine")

    # -- going back ---------------------------------------------------------------------------------------------------

    def snapshot(self) -> int:
        identity = self.rpc("evm_snapshot")
        self._moments[identity] = dict(self.moment)
        return int(identity, 16)

    def has_snapshot(self, identity: int) -> bool:
        return hex(identity) in self._moments

    def revert(self, identity: int) -> None:
        self.rpc("evm_revert", hex(identity))
        self.moment = self._moments[hex(identity)]
        self.release(identity)

    def release(self, identity: int) -> None:
        """Do nothing: the node keeps its snapshots."""
        self._moments = {each: moment for each, moment in self._moments.items() if int(each, 16) < identity}


def act_on_node(node: Hardhat, fork: Fork, *, multicall: bool) -> NodeEvm:
    """Redirect `fork` to `node`, which holds the same state."""
    place = fork.address_of("UniswapV3.Multicall") if multicall else None
    evm = NodeEvm(node, dict(fork.block), fork.chain_id, fork.hardfork, place)
    fork._evm = fork._fetcher._evm = fork._snapshots._evm = cast(_kernel.Evm, evm)
    return evm


def _revert_data(error: NodeError) -> bytes:
    data = error.args[1]
    found = data.get("data", "0x") if isinstance(data, dict) else data or "0x"
    return _bytes(found) if isinstance(found, str) else b""


def _hex(raw: bytes) -> str:
    return "0x" + raw.hex()


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])
