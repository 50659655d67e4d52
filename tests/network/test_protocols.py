"""Adapters on Ethereum itself: needs `MAYAVI_RPC_URL` (any plan; nothing is ever sent to it)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing

import pytest

from mayavi import Fork
from mayavi.protocols import AaveV3, PriceFeed, UniswapV3
from tests.network.readings import READINGS

pytestmark = pytest.mark.network

ALICE = "0x00000000000000000000000000000000000a11ce"


@pytest.fixture(scope="module")
def ethereum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fork]:
    """Fork of the newest block; the chain behind it is only read."""
    if not os.environ.get("MAYAVI_RPC_URL", "").strip():
        pytest.skip("MAYAVI_RPC_URL is not set: it names the node that this test reads")
    with closing(Fork.from_rpc(chain="ethereum", cache_dir=tmp_path_factory.mktemp("cache"))) as fork:
        yield fork


@pytest.mark.parametrize("protocol", READINGS)
def test_the_adapter_reads_the_real_chain(ethereum: Fork, protocol: str) -> None:
    assert READINGS[protocol](ethereum)


def test_a_quote_is_what_the_swap_gives(ethereum: Fork) -> None:
    uniswap, route = UniswapV3(ethereum), ("WETH", 500, "USDC")
    with ethereum.snapshot():
        ethereum.deal("WETH", ALICE, 10**18)
        quoted = uniswap.quote_exact_input(route, 10**18).amount_out
        assert uniswap.swap_exact_input(route, 10**18, sender=ALICE).amount_out == quoted


def test_a_loan_is_taken_and_the_real_feed_moved(ethereum: Fork) -> None:
    with ethereum.snapshot():
        alice = AaveV3(ethereum).account(ALICE)
        ethereum.deal("WETH", alice.address, 10**18)
        alice.supply("WETH", 10**18)
        alice.borrow("USDC", 100 * 10**6)
        before = alice.health_factor
        PriceFeed(ethereum, "Chainlink.ETH/USD").move_by("-0.1")
        assert alice.health_factor < before
