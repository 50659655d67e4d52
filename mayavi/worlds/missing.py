"""What to do about a protocol that a world lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.worlds.tables.paths import chain_names

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork


def hint_for_missing(fork: Fork, otherwise: str) -> str:
    """Return `otherwise`, or on the world of a single market where else to look."""
    world = fork.source.get("world")
    if world is None:
        return otherwise
    older = f"; '{fork.source['chain']}' may have it" if fork.source["chain"] in chain_names() else ""
    return f"`mayavi world info {world}` says what that world has{older}"
