"""The oracle posts the price processes' values to the last digit."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi.agents import PricePathAgent
from mayavi.errors import BadArgument, RunHalted
from mayavi.markets.price_paths import PricePaths
from mayavi.protocols import AaveV3, PriceFeed
from tests.agents.stage import ETH_FEED, Stage, details, replica

ETH = [2_500.1, 2_400.123456789, 2_400.123456789, 2_402.0, 2_300.0]
USDC = [1.0, 0.97, 0.88, 0.88, 1.0]


def paths() -> PricePaths:
    return PricePaths({"ETH": np.array(ETH), "USDC": np.array(USDC)}, 12)


@pytest.mark.parametrize("chain", ["ethereum", "base"])
def test_feeds_say_what_the_processes_say_with_eight_decimals(chain: str) -> None:
    fork, prices = replica(chain), paths()
    feeds = {"ETH": ETH_FEED, "USDC": "Chainlink.USDC/USD"}
    stage = Stage(fork, [PricePathAgent("oracle", feeds=feeds)], prices=prices)
    kinds = []
    for step in range(5):
        rows = stage.step()
        kinds.append(sorted(row.kind for row in rows))
        for symbol, feed in feeds.items():
            assert PriceFeed(fork, feed).answer == prices.usd_e8(symbol, step)
        assert AaveV3(fork).price_usd_e8("WETH") == prices.usd_e8("ETH", step)
    assert PriceFeed(fork, ETH_FEED).answer == 230_000_000_000
    assert kinds == [
        ["post_price", "post_price"],
        ["post_price", "post_price"],
        ["post_price"],
        ["post_price"],
        ["post_price", "post_price"],
    ]


def test_a_move_smaller_than_the_deviation_is_not_posted() -> None:
    fork = replica()
    agent = PricePathAgent("oracle", feeds={"ETH": ETH_FEED}, deviation="0.005")
    stage = Stage(fork, [agent], prices=paths())
    rows = stage.steps(5)
    assert [row.kind for row in rows] == ["post_price", "post_price", "rest", "rest", "post_price"]
    assert PriceFeed(fork, ETH_FEED).answer == 230_000_000_000
    assert details(rows[0])["symbol"] == "ETH"


def test_a_symbol_without_a_process_stops_the_run_with_those_there_are() -> None:
    stage = Stage(replica(), [PricePathAgent("oracle", feeds={"BTC": "Chainlink.BTC/USD"})], prices=paths())
    with pytest.raises(RunHalted, match="unknown price 'BTC'"):
        stage.step()
    with pytest.raises(BadArgument, match="no feed to post to"):
        PricePathAgent("oracle", feeds={})
