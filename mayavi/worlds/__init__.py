"""Offline replicas of chains, built from the protocols' own compiled code.

    from mayavi.worlds import describe_world, market_names, open_world, world_names

`Fork.replica(chain, block=…)` is `open_world(chain, block=…)`. Importing this package is cheap; the work is done in its
modules.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mayavi.evm.fork import Fork, register_replica_builder

if TYPE_CHECKING:
    from mayavi.worlds.description import WorldDescription

__all__ = ["describe_world", "market_names", "open_world", "world_blocks", "world_names"]


def world_names() -> list[str]:
    """Return the chains that have a replica."""
    from mayavi.worlds.tables.paths import chain_names

    return chain_names()


def market_names() -> list[str]:
    """Return the worlds that hold one market of Aave V3.6 each: `ethereum@2025-12`, `ethereum-lido@2025-12`, …"""
    from mayavi.worlds.tables.paths import market_names as names

    return names()


def world_blocks(chain: str) -> list[int | None]:
    """Return the blocks at which `chain` has a replica: None is the default one, the first."""
    from mayavi.worlds.tables.paths import dated_blocks

    return [None, *dated_blocks(chain)]


def open_world(
    chain: str,
    *,
    block: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    cache_dir: Path | None = None,
    rebuild: bool = False,
) -> Fork:
    """Open the replica of `chain` from its cached snapshot, or build and cache it (always on `rebuild`).

    `chain` is one of `world_names()` or `market_names()`; of the latter the part before the `@` is enough where no
    chain is called so: `plasma`. `block` is one of `world_blocks(chain)`. `progress(what, done, total)` is called while
    it is built. Raises `UnknownName` with the nearest names for an unknown chain, `UsageError` with the blocks there
    are for an unknown block, `SetupError` if contract packages are missing.
    """
    from mayavi.worlds.cache import open_replica

    return open_replica(chain, block=block, progress=progress, cache_dir=cache_dir, rebuild=rebuild)


def describe_world(chain: str, block: int | None = None) -> WorldDescription:
    """Describe the contracts of a replica, the sources of its facts and its differences from the real chain."""
    from mayavi.worlds.description import describe

    return describe(chain, block)


def _labels_of(chain_id: int) -> dict[str, str]:
    from mayavi.worlds.labels import labels_of

    return labels_of(chain_id)


register_replica_builder(open_world, _labels_of)
