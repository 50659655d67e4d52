"""Worlds of chains that have an older world hold its other protocols too, at the recorded prices."""

from __future__ import annotations

import pytest

from mayavi.evm.address import to_address
from mayavi.worlds import world_names
from mayavi.worlds.tables.chain import load_table
from mayavi.worlds.tables.market import MarketTable, load_market
from mayavi.worlds.tables.paths import market_names
from tests.worlds.markets.reading import built_market, contract

pytestmark = pytest.mark.slow(0.05)

WORLDS = [name for name in market_names() if name.partition("@")[0] in world_names()]


def prices_of(table: MarketTable) -> dict[bytes, int]:
    """Recorded prices by token."""
    return {to_address(table.tokens[each.symbol].address): each.price for each in table.aave.reserves}


@pytest.mark.parametrize("world", WORLDS)
def test_pools_are_those_of_the_older_world_at_recorded_prices(world: str) -> None:
    table, fork = load_market(world), built_market(world)
    older = load_table(table.chain).uniswap
    assert table.uniswap is not None
    assert [(each.name, each.address) for each in table.uniswap.pools] == [
        (each.name, each.address) for each in older.pools
    ]
    price = {each.symbol: each.price for each in table.aave.reserves}
    for pool in table.uniswap.pools:
        root = contract(fork, pool.address, "UniswapV3Pool").slot0()[0]
        base, quote = table.tokens[pool.base], table.tokens[pool.quote]
        found = (root / 2**96) ** 2
        first = to_address(base.address) < to_address(quote.address)
        found = (found if first else 1 / found) * 10.0 ** (base.decimals - quote.decimals)
        assert found == pytest.approx(price[pool.base] / price[pool.quote], rel=1e-6)


@pytest.mark.parametrize("world", WORLDS)
def test_compound_sees_the_recorded_prices(world: str) -> None:
    table, fork = load_market(world), built_market(world)
    recorded = prices_of(table)
    weth = recorded[to_address(table.tokens["WETH"].address)]
    for market in table.compound.markets if table.compound else ():
        comet = contract(fork, market.address, "Comet")
        unit = weth if market.base_token == table.tokens["WETH"].address else 10**8
        for token, feed in [(each.token, each.price_feed) for each in market.assets]:
            if (price := recorded.get(to_address(token))) is not None:
                tolerance = (
                    0.003 if table.tokens["WBTC" if "WBTC" in table.tokens else "WETH"].address == token else 1e-7
                )
                assert comet.getPrice(feed) == pytest.approx(price * 10**8 / unit, rel=tolerance)


def test_spark_prices_follow_the_recorded_ones() -> None:
    table, fork = load_market("ethereum@2025-12"), built_market("ethereum@2025-12")
    oracle = contract(fork, "Spark.Oracle", "AaveOracle")
    for symbol in ("WETH", "wstETH", "rETH", "USDC", "USDT"):
        price = oracle.getAssetPrice(table.tokens[symbol].address)
        assert price == pytest.approx(table.aave.reserve(symbol).price, rel=1e-8)


def test_other_markets_hold_aave_alone() -> None:
    for world in ("plasma@2025-12", "ethereum-lido@2025-12"):
        table = load_market(world)
        assert (table.uniswap, table.spark, table.compound, table.curve) == (None, None, None, None)
