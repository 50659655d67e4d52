"""Replica on a real node: every account, code and slot of a fork is written into the node.

Reads over JSON-RPC then come from an independent node; on hardhat at the block numbers of the real chain.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mayavi.evm.fork import Fork
from mayavi.evm.snapshot.contents import WorldContents
from tests.node.hardhat import Hardhat
from tests.node.local_node import LocalNode

_PER_REQUEST = 500


def put_on_node(node: LocalNode, fork: Fork) -> int:
    """Write the state of `fork` into `node` and mine a block at its time, and number if the node can; return that."""
    world = WorldContents.of(fork.freeze().dump())
    questions: list[tuple[str, list[str]]] = []
    for address, account in world.accounts.items():
        place = "0x" + address.hex()
        if account.nonce:
            questions.append(("hardhat_setNonce", [place, hex(account.nonce)]))
        if account.balance:
            questions.append(("hardhat_setBalance", [place, hex(account.balance)]))
        if account.code:
            questions.append(("hardhat_setCode", [place, "0x" + account.code.hex()]))
        for slot, value in account.slots.items():
            questions.append(("hardhat_setStorageAt", [place, hex(slot), f"0x{value:064x}"]))
    for start in range(0, len(questions), _PER_REQUEST):
        _ask_all(node, questions[start : start + _PER_REQUEST])
    node.mine_at(fork.block_number, fork.timestamp)
    return node.block_number


def node_with(folder: Path, fork: Fork) -> Hardhat:
    """Start hardhat with the state of `fork`, at its chain id, block and time; it writes only into `folder`."""
    first = fork.timestamp - fork.block_number - 100_000  # a second a block up to the fork's, and some to spare
    node = Hardhat.start(folder, chain_id=fork.chain_id, first_timestamp=first)
    put_on_node(node, fork)
    return node


def _ask_all(node: LocalNode, questions: list[tuple[str, list[str]]]) -> None:
    body = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate(questions)
    ]
    answers: list[dict[str, Any]] = node.post(json.dumps(body).encode())
    refused = [answer["error"]["message"] for answer in answers if "error" in answer]
    assert not refused, refused[0]
