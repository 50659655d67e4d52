"""Cost of gas: in the chain's coin, at the price of the chain's own feed."""

from __future__ import annotations

import pytest

from mayavi import gwei
from mayavi.agents.gas import fee_value_e8, gas_value_e8
from mayavi.protocols import PriceFeed
from mayavi.sim.world_state import WorldState
from tests.agents.stage import replica

COINS = {
    "ethereum": "ETH",
    "arbitrum": "ETH",
    "optimism": "ETH",
    "base": "ETH",
    "polygon": "MATIC",
    "avalanche": "AVAX",
}
GAS = 700_000


@pytest.mark.parametrize(("chain", "coin"), COINS.items())
def test_gas_is_worth_what_the_coin_of_the_chain_is(chain: str, coin: str) -> None:
    fork = replica(chain)
    world = WorldState(fork, [], seed=1)
    assert gas_value_e8(world, GAS) == 0  # free, where the run sets no price
    fork.set_block(base_fee=gwei(30))
    world.gas_price_wei = gwei(31)
    feed = PriceFeed(fork, f"Chainlink.{coin}/USD")
    assert feed.decimals == 8

    def worth(wei: int) -> int:
        return -(-wei * feed.answer // 10**18)

    assert gas_value_e8(world, GAS) == worth(GAS * gwei(31))
    assert gas_value_e8(world, GAS, priority_fee_wei=gwei(5)) == worth(GAS * gwei(35))  # its own tip, not the usual one
    assert gas_value_e8(world, GAS, "ETH") == -(-GAS * gwei(31) // 10**10)
    assert fee_value_e8(world, 12_345_678_901_234_567) == worth(12_345_678_901_234_567)
    feed.move_by("-0.5")
    assert gas_value_e8(world, GAS) == worth(GAS * gwei(31))
