"""Labels of a chain's contracts, from its table alone: shared by replicas and real forks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from itertools import chain

from mayavi.evm.address import checksum
from mayavi.worlds.deploy.compound import compound_labels
from mayavi.worlds.deploy.curve import curve_labels
from mayavi.worlds.deploy.feeds import feed_label
from mayavi.worlds.tables.chain import Aave, ChainTable, Uniswap, chain_names, load_table
from mayavi.worlds.tables.market import Market, MarketTable, load_market
from mayavi.worlds.tables.paths import market_names

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
    "l2_encoder": "L2Encoder",
}


def chain_labels(table: ChainTable | MarketTable) -> dict[str, str]:
    """Return every label of the table's chain with its checksummed address, sorted."""
    found = {symbol: token.address for symbol, token in table.tokens.items()}
    found |= {feed_label(name, feed): feed.address for name, feed in table.feeds.items()}
    found |= _market_labels(table.aave) if isinstance(table, MarketTable) else {}
    for prefix, market in table.lending_markets.items():
        found |= _lending_labels(prefix, market)
    found |= _uniswap_labels(table.uniswap) if table.uniswap else {}
    found |= compound_labels(table.compound) if table.compound else {}
    found |= curve_labels(table.curve) if table.curve else {}
    return {label: checksum(found[label]) for label in sorted(found)}


def _market_labels(market: Market) -> dict[str, str]:
    contracts = asdict(market.addresses)
    found = {f"AaveV3.{label}": contracts[field] for field, label in _AAVE.items() if field in contracts}
    found |= {"AaveV3.RateStrategy": market.addresses.rate_strategy}
    for reserve in market.reserves:
        found[f"AaveV3.a{reserve.symbol}"] = reserve.a_token
        found[f"AaveV3.variableDebt{reserve.symbol}"] = reserve.variable_debt_token
    return found


def _uniswap_labels(uniswap: Uniswap) -> dict[str, str]:
    contracts = uniswap.addresses
    found = {f"UniswapV3.{label}": contracts[field] for field, label in _UNISWAP.items() if field in contracts}
    return found | {f"UniswapV3.{pool.name}": pool.address for pool in uniswap.pools}


def _lending_labels(prefix: str, market: Aave) -> dict[str, str]:
    contracts = asdict(market.addresses)
    found = {f"{prefix}.{label}": contracts[field] for field, label in _AAVE.items() if contracts[field]}
    for reserve in market.reserves:
        found[f"{prefix}.a{reserve.symbol}"] = reserve.a_token
        found[f"{prefix}.stableDebt{reserve.symbol}"] = reserve.stable_debt_token
        found[f"{prefix}.variableDebt{reserve.symbol}"] = reserve.variable_debt_token
    return found


def labels_of(chain_id: int) -> dict[str, str]:
    """Return the labels of the chain with that id, of its first table; empty if there is no table for it."""
    tables: Iterable[ChainTable | MarketTable] = chain(map(load_table, chain_names()), map(load_market, market_names()))
    return next((chain_labels(table) for table in tables if table.chain_id == chain_id), {})
