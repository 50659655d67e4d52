"""Offline replicas of chains, built from the protocols' own compiled code.

    from mayavi.worlds import describe_world, open_world, world_names

`Fork.replica(chain)` is `open_world(chain)`. Importing this package is cheap; the work is done in its modules.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mayavi.evm.fork import Fork, register_replica_builder

if TYPE_CHECKING:
    from mayavi.worlds.description import WorldDescription

__all__ = ["describe_world", "open_world", "world_names"]


def world_names() -> list[str]:
    """The chains there is a replica of."""
    from mayavi.worlds.tables.paths import chain_names

    return chain_names()


def open_world(
    chain: str,
    *,
    progress: Callable[[str, int, int], None] | None = None,
    cache_dir: Path | None = None,
    rebuild: bool = False,
) -> Fork:
    """The replica of `chain`: from its snapshot in the cache, or built and cached when there is none (or on `rebuild`).

    `progress(what, done, total)` is called while it is built. An unknown chain is an `UnknownName` with the nearest
    names, missing contract packages are a `SetupError`.
    """
    from mayavi.worlds.cache import open_replica

    return open_replica(chain, progress=progress, cache_dir=cache_dir, rebuild=rebuild)


def describe_world(chain: str) -> WorldDescription:
    """What stands on the replica of `chain`, where its facts come from and where it differs from the real chain."""
    from mayavi.worlds.description import describe

    return describe(chain)


def _labels_of(chain_id: int) -> dict[str, str]:
    from mayavi.worlds.labels import labels_of

    return labels_of(chain_id)


register_replica_builder(open_world, _labels_of)
