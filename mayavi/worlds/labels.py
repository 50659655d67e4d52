"""The names of a chain's contracts, from its table alone: a fork of the real chain has the same names as a replica."""

from __future__ import annotations

from mayavi.evm.address import checksum
from mayavi.worlds.feeds import feed_label
from mayavi.worlds.table import ChainTable, chain_names, load_table

_UNISWAP = {
    "factory": "Factory",
    "swap_router": "SwapRouter",
    "quoter": "Quoter",
    "quoter_v2": "QuoterV2",
    "tick_lens": "TickLens",
    "interface_multicall": "Multicall",
    "position_descriptor": "PositionDescriptor",
    "nft_descriptor": "NFTDescriptor",
    "position_manager": "PositionManager",
}
_AAVE = {
    "provider": "Provider",
    "pool": "Pool",
    "pool_configurator": "PoolConfigurator",
    "oracle": "Oracle",
    "data_provider": "DataProvider",
    "acl_manager": "ACLManager",
    "acl_admin": "Admin",
    "registry": "ProviderRegistry",
    "treasury": "Treasury",
}


def chain_labels(table: ChainTable) -> dict[str, str]:
    """Every name a user of `table`'s chain may say, with its checksummed address, sorted."""
    found = {symbol: token.address for symbol, token in table.tokens.items()}
    found |= {feed_label(name, feed): feed.address for name, feed in table.feeds.items()}
    found |= {f"AaveV3.{label}": getattr(table.aave.addresses, field) for field, label in _AAVE.items()}
    for reserve in table.aave.reserves:
        found[f"AaveV3.a{reserve.symbol}"] = reserve.a_token
        found[f"AaveV3.stableDebt{reserve.symbol}"] = reserve.stable_debt_token
        found[f"AaveV3.variableDebt{reserve.symbol}"] = reserve.variable_debt_token
    found |= {f"UniswapV3.{label}": table.uniswap.addresses[field] for field, label in _UNISWAP.items()}
    found |= {f"UniswapV3.{pool.name}": pool.address for pool in table.uniswap.pools}
    return {label: checksum(found[label]) for label in sorted(found)}


def labels_of(chain_id: int) -> dict[str, str]:
    """The names on the chain with that id; none where no table is of that chain."""
    for name in chain_names():
        table = load_table(name)
        if table.chain_id == chain_id:
            return chain_labels(table)
    return {}
