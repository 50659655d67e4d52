"""The price feed of a chain for a token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.errors import ExecutionError, UnknownName, UsageError
from mayavi.evm.address import ZERO_ADDRESS

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork


def dollar_feed(fork: Fork, symbol: str) -> bytes:
    """Return the feed of a token's dollar price: that of a PT, else Aave V3's, else Chainlink's."""
    from mayavi.protocols.aave.market import AaveV3

    if f"Pendle.{symbol}/USD" in fork.labels:
        return fork.address_of(f"Pendle.{symbol}/USD")
    try:
        market = AaveV3(fork)
        source: bytes = market.oracle.getSourceOfAsset(market.address_of(symbol))
        if source != ZERO_ADDRESS:
            return source
    except (UsageError, ExecutionError):
        pass
    label = f"Chainlink.{symbol}/USD"
    if label not in fork.labels:
        raise UnknownName(f"no price feed of this chain prices {symbol}", _hint(symbol))
    return fork.address_of(label)


def _hint(symbol: str) -> str:
    if symbol.startswith("PT-"):
        return "create the PT and its feed first: `pendle_markets` in a scenario, `deploy_pt_feed` in Python"
    return "take another token, or give a feed of your own"
