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
    from mayavi.protocols.aave_account import AaveAccount as AaveAccount
    from mayavi.protocols.aave_v3 import AaveV3 as AaveV3
    from mayavi.protocols.compound_account import CompoundV3Account as CompoundV3Account
    from mayavi.protocols.compound_v3 import CompoundV3 as CompoundV3
    from mayavi.protocols.price_feed import PriceFeed as PriceFeed
    from mayavi.protocols.spark import SparkAccount as SparkAccount
    from mayavi.protocols.spark import SparkLend as SparkLend
    from mayavi.protocols.tokens import Erc20 as Erc20
    from mayavi.protocols.uniswap_v3 import UniswapV3 as UniswapV3
    from mayavi.protocols.vesting_wallet import VestingWallet as VestingWallet

_HOMES = {
    "AaveAccount": "mayavi.protocols.aave_account",
    "AaveV3": "mayavi.protocols.aave_v3",
    "CompoundV3": "mayavi.protocols.compound_v3",
    "CompoundV3Account": "mayavi.protocols.compound_account",
    "CurveStableSwap": "mayavi.protocols.curve",
    "Erc20": "mayavi.protocols.tokens",
    "PriceFeed": "mayavi.protocols.price_feed",
    "SparkAccount": "mayavi.protocols.spark",
    "SparkLend": "mayavi.protocols.spark",
    "UniswapV3": "mayavi.protocols.uniswap_v3",
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
