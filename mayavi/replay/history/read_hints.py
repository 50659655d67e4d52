"""Guess the state that a transaction reads from what earlier calls of the same function read."""

from __future__ import annotations

import threading
from collections import OrderedDict

from mayavi.evm.rpc.remote import Missing
from mayavi.replay.block_state import BlockState
from mayavi.replay.chain_block import BlockTransaction, ChainBlock

TARGETS = 512
"""Functions remembered, the latest ones."""
ITEMS = 256
"""Accounts and slots remembered of each."""
BLOCK_ITEMS = 2_000
"""Most accounts and slots guessed for one block."""

_Target = tuple[bytes | None, bytes]


class ReadHints:
    """Reads by contract and selector. A guess saves requests and never changes a result."""

    def __init__(self) -> None:
        self._reads: OrderedDict[_Target, dict[Missing, None]] = OrderedDict()
        self._lock = threading.Lock()

    def likely(self, block: ChainBlock) -> list[Missing]:
        """Return senders and targets of a block, and what their functions read before."""
        found: dict[Missing, None] = {}
        for each in block.transactions:
            found[("account", each.sender, 0)] = None
            if each.to is not None:
                found[("account", each.to, 0)] = None
        with self._lock:
            for each in block.transactions:
                if each.to is not None and len(found) < BLOCK_ITEMS:
                    found.update(self._reads.get(_target(each), {}))
        return list(found)

    def record(self, state: BlockState) -> None:
        """Remember what each transaction of an executed block read first."""
        with self._lock:
            for index, reads in state.first_reads.items():
                target = _target(state.block.transactions[index])
                kept = self._reads.setdefault(target, {})
                kept.update(dict.fromkeys(item for item in reads if item[0] != "block_hash"))
                for item in list(kept)[:-ITEMS]:
                    del kept[item]
                self._reads.move_to_end(target)
            while len(self._reads) > TARGETS:
                self._reads.popitem(last=False)


def _target(each: BlockTransaction) -> _Target:
    return each.to, each.selector
