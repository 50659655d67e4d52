"""A portfolio of USDY, mETH and MI4: market model, environment, backtest and optimiser.

from mayavi.portfolio import PPOYieldOptimizer, RWAModel, read_rwa

Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi.portfolio.market.assets import growth as growth
    from mayavi.portfolio.market.assets import trade_gas_usd as trade_gas_usd
    from mayavi.portfolio.market.data import RWAMarket as RWAMarket
    from mayavi.portfolio.market.history import read_rwa as read_rwa
    from mayavi.portfolio.market.history import write_rwa as write_rwa
    from mayavi.portfolio.market.model import RWAModel as RWAModel
    from mayavi.portfolio.optimizer import PPOYieldOptimizer as PPOYieldOptimizer

_HOMES = {
    "PPOYieldOptimizer": "mayavi.portfolio.optimizer",
    "RWAMarket": "mayavi.portfolio.market.data",
    "RWAModel": "mayavi.portfolio.market.model",
    "growth": "mayavi.portfolio.market.assets",
    "read_rwa": "mayavi.portfolio.market.history",
    "trade_gas_usd": "mayavi.portfolio.market.assets",
    "write_rwa": "mayavi.portfolio.market.history",
}

__all__ = ["PPOYieldOptimizer", "RWAMarket", "RWAModel", "growth", "read_rwa", "trade_gas_usd", "write_rwa"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'mayavi.portfolio' has no attribute '{name}'")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
