"""Worlds: the chains and blocks that have a replica, and whether it is built. Nothing is built here."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from mayavi.api.models.base import Listing
from mayavi.api.models.scenarios import WorldSummary


def world_list() -> Listing[WorldSummary]:
    """List the replicas of all chains and blocks, of which the first is the chain's default, then those of markets."""
    from mayavi.worlds import market_names, world_blocks, world_names

    items = [_world(chain, block) for chain in world_names() for block in world_blocks(chain)]
    items += [_world(name, None) for name in market_names()]
    return Listing[WorldSummary](items=items, total=len(items))


def _world(chain: str, block: int | None) -> WorldSummary:
    from mayavi.worlds import describe_world, world_names
    from mayavi.worlds.tables.market import MarketTable, load_world

    world, table = describe_world(chain, block), load_world(chain, block)
    size, market = _size(world.snapshot), isinstance(table, MarketTable)
    protocols = ["Aave V3"] if market else []
    protocols += [_NAMES.get(prefix, prefix) for prefix in table.lending_markets]
    protocols += ["Uniswap V3"] if table.uniswap else []
    protocols += ["Compound V3"] if table.compound else []
    protocols += ["Curve"] if table.curve else []
    return WorldSummary(
        world=world.world,
        aave=world.aave,
        chain=world.chain,
        chain_id=world.chain_id,
        title=world.title,
        default=world.chain not in world_names() if market else block is None,
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
