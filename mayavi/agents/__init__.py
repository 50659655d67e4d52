"""Agents of a simulation. Each observes a `World` and returns intents.

    from mayavi.agents import BorrowerPopulation, LiquidatorAgent

A name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi.agents.base import Agent as Agent
    from mayavi.agents.base import Intent as Intent
    from mayavi.agents.base import StepResult as StepResult
    from mayavi.agents.base import World as World
    from mayavi.agents.lending.behaviours import Behaviour as Behaviour
    from mayavi.agents.lending.behaviours import KeepsBand as KeepsBand
    from mayavi.agents.lending.behaviours import Move as Move
    from mayavi.agents.lending.behaviours import Panics as Panics
    from mayavi.agents.lending.behaviours import Passive as Passive
    from mayavi.agents.lending.borrower import BorrowerAgent as BorrowerAgent
    from mayavi.agents.lending.borrower_population import BorrowerPopulation as BorrowerPopulation
    from mayavi.agents.lending.curve_borrower import CurveBorrowerAgent as CurveBorrowerAgent
    from mayavi.agents.lending.liquidator import FrictionlessLiquidator as FrictionlessLiquidator
    from mayavi.agents.lending.liquidator import LiquidatorAgent as LiquidatorAgent
    from mayavi.agents.lending.market import LendingAccount as LendingAccount
    from mayavi.agents.lending.market import LendingMarket as LendingMarket
    from mayavi.agents.lending.open_market import lending_market as lending_market
    from mayavi.agents.lending.opening_borrower import OpeningBorrower as OpeningBorrower
    from mayavi.agents.oracle.price_path import PricePathAgent as PricePathAgent
    from mayavi.agents.oracle.reference import FeedPrices as FeedPrices
    from mayavi.agents.oracle.reference import OutsidePrices as OutsidePrices
    from mayavi.agents.oracle.shock import OracleShockAgent as OracleShockAgent
    from mayavi.agents.oracle.shock import PathShock as PathShock
    from mayavi.agents.oracle.shock import RampShock as RampShock
    from mayavi.agents.oracle.shock import StepShock as StepShock
    from mayavi.agents.trading.arbitrageur import ArbitrageurAgent as ArbitrageurAgent
    from mayavi.agents.trading.curve_arbitrageur import CurveArbitrageur as CurveArbitrageur
    from mayavi.agents.trading.curve_holders import CurveHolders as CurveHolders
    from mayavi.agents.trading.noise_traders import NoiseTraders as NoiseTraders
    from mayavi.agents.trading.recorded_trades import RecordedTrade as RecordedTrade
    from mayavi.agents.trading.recorded_trades import RecordedTradesAgent as RecordedTradesAgent
    from mayavi.agents.trading.selling import SellsAbove as SellsAbove
    from mayavi.agents.trading.selling import SellsAtOnce as SellsAtOnce
    from mayavi.agents.trading.selling import SellsOverSteps as SellsOverSteps
    from mayavi.agents.trading.selling import SellsShare as SellsShare
    from mayavi.agents.trading.vesting import VestingRecipientAgent as VestingRecipientAgent

_HOMES = {
    "Agent": "mayavi.agents.base",
    "ArbitrageurAgent": "mayavi.agents.trading.arbitrageur",
    "Behaviour": "mayavi.agents.lending.behaviours",
    "BorrowerAgent": "mayavi.agents.lending.borrower",
    "BorrowerPopulation": "mayavi.agents.lending.borrower_population",
    "CurveArbitrageur": "mayavi.agents.trading.curve_arbitrageur",
    "CurveBorrowerAgent": "mayavi.agents.lending.curve_borrower",
    "CurveHolders": "mayavi.agents.trading.curve_holders",
    "FeedPrices": "mayavi.agents.oracle.reference",
    "FrictionlessLiquidator": "mayavi.agents.lending.liquidator",
    "Intent": "mayavi.agents.base",
    "KeepsBand": "mayavi.agents.lending.behaviours",
    "LendingAccount": "mayavi.agents.lending.market",
    "LendingMarket": "mayavi.agents.lending.market",
    "LiquidatorAgent": "mayavi.agents.lending.liquidator",
    "Move": "mayavi.agents.lending.behaviours",
    "NoiseTraders": "mayavi.agents.trading.noise_traders",
    "OpeningBorrower": "mayavi.agents.lending.opening_borrower",
    "OracleShockAgent": "mayavi.agents.oracle.shock",
    "OutsidePrices": "mayavi.agents.oracle.reference",
    "Panics": "mayavi.agents.lending.behaviours",
    "Passive": "mayavi.agents.lending.behaviours",
    "PathShock": "mayavi.agents.oracle.shock",
    "PricePathAgent": "mayavi.agents.oracle.price_path",
    "RampShock": "mayavi.agents.oracle.shock",
    "RecordedTrade": "mayavi.agents.trading.recorded_trades",
    "RecordedTradesAgent": "mayavi.agents.trading.recorded_trades",
    "SellsAbove": "mayavi.agents.trading.selling",
    "SellsAtOnce": "mayavi.agents.trading.selling",
    "SellsOverSteps": "mayavi.agents.trading.selling",
    "SellsShare": "mayavi.agents.trading.selling",
    "StepResult": "mayavi.agents.base",
    "StepShock": "mayavi.agents.oracle.shock",
    "VestingRecipientAgent": "mayavi.agents.trading.vesting",
    "World": "mayavi.agents.base",
    "lending_market": "mayavi.agents.lending.open_market",
}

__all__ = [
    "Agent",
    "ArbitrageurAgent",
    "Behaviour",
    "BorrowerAgent",
    "BorrowerPopulation",
    "CurveArbitrageur",
    "CurveBorrowerAgent",
    "CurveHolders",
    "FeedPrices",
    "FrictionlessLiquidator",
    "Intent",
    "KeepsBand",
    "LendingAccount",
    "LendingMarket",
    "LiquidatorAgent",
    "Move",
    "NoiseTraders",
    "OpeningBorrower",
    "OracleShockAgent",
    "OutsidePrices",
    "Panics",
    "Passive",
    "PathShock",
    "PricePathAgent",
    "RampShock",
    "RecordedTrade",
    "RecordedTradesAgent",
    "SellsAbove",
    "SellsAtOnce",
    "SellsOverSteps",
    "SellsShare",
    "StepResult",
    "StepShock",
    "VestingRecipientAgent",
    "World",
    "lending_market",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'mayavi.agents' has no attribute '{name}'")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
