"""Chain of a named world, and what to do where it lacks something."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork


def chain_of(world: str) -> str:
    """Return the chain of a world: `ethereum` of `ethereum-lido@2025-12`, and of `ethereum` itself."""
    return world.partition("@")[0].partition("-")[0]


def hint_for_missing(fork: Fork, otherwise: str) -> str:
    """Return what to do about a protocol that is not there: `otherwise`, or another world than that of one market."""
    world = fork.source.get("world")
    if world is None:
        return otherwise
    return f"`mayavi world info {world}` says what that world has; '{chain_of(str(world))}' may have it"
