"""State of the invented chain of `scripted_node.py`: what a test asks for, and what it must get."""

from __future__ import annotations

from collections.abc import Callable

from mayavi.evm.rpc.remote import Facts, RemoteState
from tests.evm.rpc.scripted_node import ALICE, POOL, POOL_CODE, ScriptedNode

NOBODY = bytes.fromhex("0b0d100000000000000000000000000000000003")
WANTED = [("account", ALICE, 0), ("account", POOL, 0), ("slot", POOL, 7), ("slot", POOL, 8), ("slot", ALICE, 2**255)]
FACTS = Facts(
    accounts={ALICE: (5 * 10**18, 7, b""), POOL: (0, 1, POOL_CODE)},
    slots={POOL: {7: 7001, 8: 8001}, ALICE: {2**255: 0}},
)

Opened = Callable[..., RemoteState]


def block_hash(node: ScriptedNode, number: int) -> bytes:
    return bytes.fromhex(node.blocks[number]["hash"][2:])
