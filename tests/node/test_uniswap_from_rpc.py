"""Uniswap and price feeds through an independent node: same code, same numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mayavi import Fork
from mayavi.protocols import PriceFeed, UniswapV3
from tests.node.hardhat import Hardhat
from tests.node.replica_on_node import put_on_node
from tests.protocols.chainlink.recorded_feed import eth_usd, put_real_feed

pytestmark = [pytest.mark.node, pytest.mark.slow]

ALICE = "0x00000000000000000000000000000000000a11ce"


@pytest.fixture(scope="module")
def replica(cases: Path) -> Fork:
    """Replica with Chainlink's own ETH/USD."""
    fork = Fork.replica("ethereum")
    put_real_feed(fork, eth_usd(cases))
    return fork


@pytest.fixture(scope="module")
def remote(replica: Fork, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fork]:
    """Replica behind JSON-RPC, opened like any chain."""
    folder = tmp_path_factory.mktemp("ethereum-node")
    node = Hardhat.start(folder, chain_id=1, first_timestamp=1_600_000_000)
    try:
        block = put_on_node(node, replica)
        fork = Fork.from_rpc(node.url, block, chain="ethereum", cache_dir=folder / "cache")
        yield fork
        fork.close()
    finally:
        node.stop()


def story(fork: Fork) -> list[object]:
    """Run every adapter function and return the results."""
    uniswap, feed = UniswapV3(fork), PriceFeed(fork, "Chainlink.ETH/USD")
    pool = uniswap.pool("WETH", "USDC", 500)
    results: list[object] = [pool.sqrt_price_x96, pool.tick, pool.liquidity, pool.price("WETH")]
    results += [pool.liquidity_profile(), [each.fee for each in uniswap.pools("USDC", "WETH")]]
    route = ("WBTC", 3000, "WETH", 500, "USDC")
    results += [uniswap.quote_exact_inputs(route, [10**6, 10**8])[1][:4], uniswap.quote_exact_output(route, 10**10)[:4]]
    fork.deal("WBTC", ALICE, 10**9)
    fork.deal("WETH", ALICE, 10**19)
    results += [uniswap.swap_exact_input(route, 10**8, sender=ALICE)[:2]]
    results += [uniswap.swap_exact_output(("WETH", "USDC", 500), 10**9, sender=ALICE)[:2]]
    lower, upper = pool.tick_range(2_000, 3_000, "WETH")
    minted = uniswap.mint(pool, lower, upper, {"WETH": 10**18, "USDC": 10**9}, sender=ALICE)
    results += [minted[1:4], minted.position.amounts, minted.position.burn()[:2]]
    results += [feed.latest_round, feed.decimals, feed.move_by("-0.3").answer, feed.latest_round.round_id]
    results += [PriceFeed(fork, "Aave.wstETH/USD").move_by("0.01").answer]
    return results


def test_adapters_give_the_same_through_a_node(replica: Fork, remote: Fork) -> None:
    assert story(remote.copy()) == story(replica.copy())
    assert remote.requests > 0
