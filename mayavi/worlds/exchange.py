"""Uniswap V3 for the world of a lending market, which has no exchange of its own.

Contracts, pools and liquidity are those of the chain's default replica, which are assumptions. Prices are those of the
market's oracle.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from mayavi.evm.address import to_address

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.worlds.deploy.deployment import Deployment
    from mayavi.worlds.tables.chain import Pool

_E8 = 10**8


def ensure_exchange(fork: Fork) -> None:
    """Deploy Uniswap V3 on a market's world that has none, and whose chain has a replica to take the pools from."""
    from mayavi.worlds.tables.paths import chain_names

    world, chain = fork.source.get("world"), str(fork.source.get("chain"))
    if world is None or "UniswapV3.Factory" in fork.labels or chain not in chain_names():
        return
    from mayavi.worlds.deploy.deployment import MARKET, Deployment
    from mayavi.worlds.deploy.uniswap import create_pool, deploy_uniswap
    from mayavi.worlds.tables.chain import load_table
    from mayavi.worlds.tables.market import load_world

    table, tokens = load_table(chain), load_world(str(world)).tokens
    deployment = Deployment(fork)
    deployment.labels = {label: to_address(address) for label, address in fork.labels.items()}
    deploy_uniswap(deployment, table.uniswap, wrapped_native=table.wrapped_native, native=table.native)
    for pool in table.uniswap.pools:
        if pool.base in tokens and pool.quote in tokens:
            create_pool(deployment, table.uniswap, _priced(deployment, pool), tokens, holder=MARKET)
    fork.labels = fork.labels | deployment.checksummed_labels()


def _priced(deployment: Deployment, pool: Pool) -> Pool:
    """Return `pool` at the prices of the market's oracle."""
    base, quote = (
        Decimal(deployment.view("AaveV3.Oracle", "getAssetPrice(address)(uint256)", deployment[symbol]))
        for symbol in (pool.base, pool.quote)
    )
    return replace(pool, price=f"{base / quote:f}", base_price_usd=f"{base / _E8:f}")
