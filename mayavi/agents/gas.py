"""Cost of gas in an agent's unit of account."""

from __future__ import annotations

from mayavi.agents.base import World
from mayavi.protocols.chainlink.price_feed import PriceFeed

_NATIVE_FEED = {137: "Chainlink.MATIC/USD", 43114: "Chainlink.AVAX/USD"}
_NATIVE_UNIT = 10**18
_E8 = 10**8


def gas_value_e8(world: World, gas: int, quote: str = "USD", priority_fee_wei: int = 0) -> int:
    """Return the cost of `gas` now with 8 decimals, in USD by the chain's feed or in `ETH`, rounded up.

    A non-zero `priority_fee_wei` replaces the run's usual tip on top of the base fee.
    """
    if not world.gas_price_wei:
        return 0
    price_wei = world.gas_price_wei
    if priority_fee_wei:
        price_wei = int(world.fork.block["base_fee"]) + priority_fee_wei
    native_e8 = _E8 if quote == "ETH" else world.observe("price of gas", lambda: _native_usd_e8(world))
    return -(-gas * price_wei * native_e8 // _NATIVE_UNIT)


def fee_value_e8(world: World, fee_wei: int, quote: str = "USD") -> int:
    """Return the value of a paid fee now with 8 decimals, in USD or `ETH`, rounded up."""
    if not fee_wei:
        return 0
    native_e8 = _E8 if quote == "ETH" else world.observe("price of gas", lambda: _native_usd_e8(world))
    return -(-fee_wei * native_e8 // _NATIVE_UNIT)


def _native_usd_e8(world: World) -> int:
    feed = PriceFeed(world.fork, _NATIVE_FEED.get(world.fork.chain_id, "Chainlink.ETH/USD"))
    return feed.answer * _E8 // int(10**feed.decimals)
