"""Where a contract keeps what a view tells, found by looking and never guessed."""

from __future__ import annotations

from mayavi.errors import ExecutionError
from mayavi.evm.fork import Fork

_MARK = 0x6D61796176690123
"""A number that nothing is by chance: where a view tells it, the slot is found."""


def slot_behind(fork: Fork, contract: bytes, view: bytes) -> int | None:
    """The one slot of `contract` whose content is the first word that `view` returns; None where there is no such."""
    found = []
    for slot in dict(fork.touched(contract, view)).get(contract, ()):
        with fork.snapshot():
            fork.set_storage(contract, slot, _MARK)
            try:
                told = fork.call(contract, view)
            except ExecutionError:
                continue
            if int.from_bytes(told[:32], "big") == _MARK:
                found.append(slot)
    return found[0] if len(found) == 1 else None
