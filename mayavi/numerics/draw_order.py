"""Order by lot: a keyed draw that depends on names alone, never on a place in a list."""

from __future__ import annotations

from hashlib import blake2b


def lot_of(seed: int, step: int, block: str, agent: str, account: str, number: int = 0) -> bytes:
    """The lot of the `number`th intent of an agent's account in a block. The smallest lot comes first."""
    ticket = f"{seed}\0{step}\0{block}\0{agent}\0{account}\0{number}"
    return blake2b(ticket.encode(), digest_size=16).digest()
