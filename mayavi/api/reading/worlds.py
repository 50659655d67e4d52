"""Worlds: the chains and blocks that have a replica, and whether it is built. Nothing is built here."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from mayavi.api.models.base import Listing
from mayavi.api.models.scenarios import WorldSummary


def world_list() -> Listing[WorldSummary]:
    """List the replicas of all chains and blocks; the first of a chain is its default."""
    from mayavi.worlds import world_blocks, world_names

    items = [_world(chain, block) for chain in world_names() for block in world_blocks(chain)]
    return Listing[WorldSummary](items=items, total=len(items))


def _world(chain: str, block: int | None) -> WorldSummary:
    from mayavi.worlds import describe_world
    from mayavi.worlds.tables.chain import load_table

    world, table = describe_world(chain, block), load_table(chain, block)
    size = _size(world.snapshot)
    protocols = [_NAMES.get(prefix, prefix) for prefix in table.lending_markets]
    protocols += ["Uniswap V3"]
    protocols += ["Compound V3"] if table.compound else []
    protocols += ["Curve"] if table.curve else []
    return WorldSummary(
        chain=world.chain,
        chain_id=world.chain_id,
        title=world.title,
        default=block is None,
        built=size is not None,
        block_number=world.block.number,
        digest=None if size is None or world.snapshot is None else _digest(world.snapshot, size),
        bytes=size,
        protocols=protocols,
        tokens=list(table.tokens),
    )


_NAMES = {"AaveV3": "Aave V3", "Spark": "SparkLend"}


def _size(snapshot: Path | None) -> int | None:
    try:
        return None if snapshot is None else snapshot.stat().st_size
    except OSError:
        return None


@cache
def _digest(snapshot: Path, size: int) -> str | None:
    """Digest of a built replica; its file never changes, because its name holds a hash of what it depends on."""
    from mayavi.errors import MayaviError
    from mayavi.evm.fork import Fork

    try:
        return Fork.load_snapshot(snapshot).digest()
    except (OSError, MayaviError):
        return None
