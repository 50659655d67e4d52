"""Adapters over `Fork`: each protocol in its own words. They know contracts and selectors, and keep no state.

    from mayavi.protocols import AaveV3

    market = AaveV3(fork)
    market.account(address).supply("WETH", 10**18)

A name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi.protocols.aave.account import AaveAccount as AaveAccount
    from mayavi.protocols.aave.market import AaveV3 as AaveV3
    from mayavi.protocols.aave.spark import SparkAccount as SparkAccount
    from mayavi.protocols.aave.spark import SparkLend as SparkLend
    from mayavi.protocols.chainlink.price_feed import PriceFeed as PriceFeed
    from mayavi.protocols.compound.account import CompoundV3Account as CompoundV3Account
    from mayavi.protocols.compound.market import CompoundV3 as CompoundV3
    from mayavi.protocols.tokens import Erc20 as Erc20
    from mayavi.protocols.uniswap.market import UniswapV3 as UniswapV3
    from mayavi.protocols.vesting_wallet import VestingWallet as VestingWallet

_HOMES = {
    "AaveAccount": "mayavi.protocols.aave.account",
    "AaveV3": "mayavi.protocols.aave.market",
    "CompoundV3": "mayavi.protocols.compound.market",
    "CompoundV3Account": "mayavi.protocols.compound.account",
    "CurveStableSwap": "mayavi.protocols.curve.pool",
    "Erc20": "mayavi.protocols.tokens",
    "PriceFeed": "mayavi.protocols.chainlink.price_feed",
    "SparkAccount": "mayavi.protocols.aave.spark",
    "SparkLend": "mayavi.protocols.aave.spark",
    "UniswapV3": "mayavi.protocols.uniswap.market",
    "VestingWallet": "mayavi.protocols.vesting_wallet",
}


__all__ = [
    "AaveAccount",
    "AaveV3",
    "CompoundV3",
    "CompoundV3Account",
    "CurveStableSwap",
    "Erc20",
    "PriceFeed",
    "SparkAccount",
    "SparkLend",
    "UniswapV3",
    "VestingWallet",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'mayavi.protocols' has no attribute '{name}'")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
