"""Chain of a named world."""

from __future__ import annotations


def chain_of(world: str) -> str:
    """Return the chain of a world: `ethereum` of `ethereum-lido@2025-12`, and of `ethereum` itself."""
    return world.partition("@")[0].partition("-")[0]
