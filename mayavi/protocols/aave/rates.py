"""Interest rate parameters of an Aave reserve."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi.protocols.aave.market import AaveV3
    from mayavi.protocols.aave.reserve import Reserve

_ABI = [
    "OPTIMAL_USAGE_RATIO() view returns (uint256)",
    "getOptimalUsageRatio(address reserve) view returns (uint256)",
]


def optimal_usage_ray(market: AaveV3, reserve: Reserve) -> int:
    """The utilisation above which the rates of `reserve` rise steeply, in rays."""
    strategy = market.fork.contract(reserve.rate_strategy, _ABI)
    shared = market.generation.virtual_balance  # V3.1 brought the virtual balance and strategies that reserves share
    return int(strategy.getOptimalUsageRatio(reserve.address) if shared else strategy.OPTIMAL_USAGE_RATIO())
