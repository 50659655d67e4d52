"""Prestates as geth's tracer gives them, for a node that has no tracer.

Each transaction's prestate holds the values right before it, those that earlier transactions of the block wrote
included, and neither empty accounts nor those that the transaction creates: what a careless reader takes for the state
of the parent block.
"""

from __future__ import annotations

from typing import Any

from mayavi.evm.snapshot.contents import WorldContents
from mayavi.replay.block_state import BlockState
from mayavi.replay.history.node import ReplayNode


def prestates(url: str, number: int) -> list[dict[str, Any]]:
    """Answer of `debug_traceBlockByNumber` with the prestate tracer."""
    with ReplayNode.open(url) as node:
        ((block, parent),) = node.with_parents([number])
        state = BlockState(block, node.state(block, parent, traced=False))
        state.begin()
        found = []
        for index, transaction in enumerate(block.transactions):
            state.complete(index)
            before = WorldContents.of(state.evm.dump())
            state.execute(index + 1)
            answer = {}
            for address, account in before.accounts.items():
                if account.balance or account.nonce or account.code:
                    answer["0x" + address.hex()] = {
                        "balance": hex(account.balance),
                        "nonce": account.nonce,
                        **({"code": "0x" + account.code.hex()} if account.code else {}),
                        "storage": {f"0x{slot:064x}": f"0x{value:064x}" for slot, value in account.slots.items()},
                    }
            found.append({"txHash": "0x" + transaction.hash.hex(), "result": answer})
        return found
