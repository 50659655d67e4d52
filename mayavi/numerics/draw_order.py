"""Random order of intents by keyed hashes of names, independent of list positions."""

from __future__ import annotations

from hashlib import blake2b


def lot_of(seed: int, step: int, block: str, agent: str, account: str, number: int = 0) -> bytes:
    """Sort key of the `number`th intent of an agent's account in a block; the smallest comes first."""
    key = f"{seed}\0{step}\0{block}\0{agent}\0{account}\0{number}"
    return blake2b(key.encode(), digest_size=16).digest()
