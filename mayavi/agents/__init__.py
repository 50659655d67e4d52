"""Agents: who acts in a simulation, and how each decides. They see a `World`, and return what they want to do.

    from mayavi.agents import BorrowerPopulation, LiquidatorAgent

A name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi.agents.arbitrageur import ArbitrageurAgent as ArbitrageurAgent
    from mayavi.agents.base import Agent as Agent
    from mayavi.agents.base import Intent as Intent
    from mayavi.agents.base import StepResult as StepResult
    from mayavi.agents.base import World as World
    from mayavi.agents.behaviours import Behaviour as Behaviour
    from mayavi.agents.behaviours import KeepsBand as KeepsBand
    from mayavi.agents.behaviours import Move as Move
    from mayavi.agents.behaviours import Panics as Panics
    from mayavi.agents.behaviours import Passive as Passive
    from mayavi.agents.borrower import BorrowerAgent as BorrowerAgent
    from mayavi.agents.borrower_population import BorrowerPopulation as BorrowerPopulation
    from mayavi.agents.curve_arbitrageur import CurveArbitrageur as CurveArbitrageur
    from mayavi.agents.curve_borrower import CurveBorrowerAgent as CurveBorrowerAgent
    from mayavi.agents.curve_holders import CurveHolders as CurveHolders
    from mayavi.agents.lending import LendingAccount as LendingAccount
    from mayavi.agents.lending import LendingMarket as LendingMarket
    from mayavi.agents.lending import lending_market as lending_market
    from mayavi.agents.liquidator import FrictionlessLiquidator as FrictionlessLiquidator
    from mayavi.agents.liquidator import LiquidatorAgent as LiquidatorAgent
    from mayavi.agents.noise_traders import NoiseTraders as NoiseTraders
    from mayavi.agents.opening_borrower import OpeningBorrower as OpeningBorrower
    from mayavi.agents.oracle_shock import OracleShockAgent as OracleShockAgent
    from mayavi.agents.oracle_shock import PathShock as PathShock
    from mayavi.agents.oracle_shock import RampShock as RampShock
    from mayavi.agents.oracle_shock import StepShock as StepShock
    from mayavi.agents.partial_sale import SellsShare as SellsShare
    from mayavi.agents.price_path import PricePathAgent as PricePathAgent
    from mayavi.agents.recorded_trades import RecordedTrade as RecordedTrade
    from mayavi.agents.recorded_trades import RecordedTradesAgent as RecordedTradesAgent
    from mayavi.agents.reference import FeedPrices as FeedPrices
    from mayavi.agents.reference import OutsidePrices as OutsidePrices
    from mayavi.agents.selling import SellsAbove as SellsAbove
    from mayavi.agents.selling import SellsAtOnce as SellsAtOnce
    from mayavi.agents.selling import SellsOverSteps as SellsOverSteps
    from mayavi.agents.vesting import VestingRecipientAgent as VestingRecipientAgent

_HOMES = {
    "Agent": "mayavi.agents.base",
    "ArbitrageurAgent": "mayavi.agents.arbitrageur",
    "Behaviour": "mayavi.agents.behaviours",
    "BorrowerAgent": "mayavi.agents.borrower",
    "BorrowerPopulation": "mayavi.agents.borrower_population",
    "CurveArbitrageur": "mayavi.agents.curve_arbitrageur",
    "CurveBorrowerAgent": "mayavi.agents.curve_borrower",
    "CurveHolders": "mayavi.agents.curve_holders",
    "FeedPrices": "mayavi.agents.reference",
    "FrictionlessLiquidator": "mayavi.agents.liquidator",
    "Intent": "mayavi.agents.base",
    "KeepsBand": "mayavi.agents.behaviours",
    "LendingAccount": "mayavi.agents.lending",
    "LendingMarket": "mayavi.agents.lending",
    "LiquidatorAgent": "mayavi.agents.liquidator",
    "Move": "mayavi.agents.behaviours",
    "NoiseTraders": "mayavi.agents.noise_traders",
    "OpeningBorrower": "mayavi.agents.opening_borrower",
    "OracleShockAgent": "mayavi.agents.oracle_shock",
    "OutsidePrices": "mayavi.agents.reference",
    "Panics": "mayavi.agents.behaviours",
    "Passive": "mayavi.agents.behaviours",
    "PathShock": "mayavi.agents.oracle_shock",
    "PricePathAgent": "mayavi.agents.price_path",
    "RampShock": "mayavi.agents.oracle_shock",
    "RecordedTrade": "mayavi.agents.recorded_trades",
    "RecordedTradesAgent": "mayavi.agents.recorded_trades",
    "SellsAbove": "mayavi.agents.selling",
    "SellsAtOnce": "mayavi.agents.selling",
    "SellsOverSteps": "mayavi.agents.selling",
    "SellsShare": "mayavi.agents.partial_sale",
    "StepResult": "mayavi.agents.base",
    "StepShock": "mayavi.agents.oracle_shock",
    "VestingRecipientAgent": "mayavi.agents.vesting",
    "World": "mayavi.agents.base",
    "lending_market": "mayavi.agents.lending",
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
