"""Uniswap V3 on replicas, for all tests of the adapter."""

from __future__ import annotations

from functools import cache

import pytest

from mayavi import Fork
from mayavi.protocols import UniswapV3
from mayavi.worlds import world_names
from mayavi.worlds.tables.chain import load_table

ALICE = "0x00000000000000000000000000000000000a11ce"
BOB = "0x0000000000000000000000000000000000000b0b"
POOLS = [
    pytest.param(chain, pool, id=f"{chain}-{pool.name}")
    for chain in world_names()
    for pool in load_table(chain).uniswap.pools
]
WETH_USDC = ("WETH", "USDC", 500)


@cache
def _replica(chain: str) -> Fork:
    return Fork.replica(chain)


def uniswap_on(chain: str) -> UniswapV3:
    """Return Uniswap on a fresh copy of a replica."""
    return UniswapV3(_replica(chain).copy())
