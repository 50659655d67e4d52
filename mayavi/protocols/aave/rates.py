"""Interest rate parameters of an Aave reserve."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_ABI = ["OPTIMAL_USAGE_RATIO() view returns (uint256)"]


def optimal_usage_ray(fork: Fork, rate_strategy: bytes) -> int:
    """The utilisation above which the rates of `rate_strategy` rise steeply, in rays."""
    return int(fork.contract(rate_strategy, _ABI).OPTIMAL_USAGE_RATIO())
