"""An Aave V2 market of USDC and CRV on the Ethereum replica, for all tests of the adapter."""

from __future__ import annotations

from functools import cache

from mayavi import Fork
from mayavi.protocols import AaveV2
from mayavi.scenarios.build.chain.new_markets import create_aave_v2
from mayavi.scenarios.models.chain.new_markets import NewReserveV2

RESERVES = {
    "USDC": {
        "price": 1,
        "ltv": "87%",
        "liquidation_threshold": "89%",
        "liquidation_bonus": "4.5%",
        "supplied": 5_000_000,
    },
    "CRV": {
        "price": "0.5",
        "ltv": "55%",
        "liquidation_threshold": "61%",
        "liquidation_bonus": "8%",
        "reserve_factor": "20%",
        "optimal_usage": "45%",
        "slope1": "7%",
        "slope2": "300%",
        "supplied": 10_000_000,
    },
}


@cache
def _world() -> Fork:
    fork = Fork.replica("ethereum")
    create_aave_v2(fork, {symbol: NewReserveV2.model_validate(each) for symbol, each in RESERVES.items()})
    return fork


def open_market() -> AaveV2:
    """Return a fresh copy of the market."""
    return AaveV2(_world().copy())
