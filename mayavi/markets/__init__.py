"""Price processes, historical series and distributions. NumPy only.

    from mayavi.markets import GeometricBrownianMotion, PricePaths, Step

    crash = Step(at=12, size=-0.25, then=GeometricBrownianMotion(volatility=0.8))
    prices = PricePaths.draw({"WETH": crash}, {"WETH": 2562.92}, steps=48, step_seconds=3600, seed=7)
    prices.usd_e8("WETH", 12)

A name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi.markets.correlation import Correlation as Correlation
    from mayavi.markets.diffusions import GeometricBrownianMotion as GeometricBrownianMotion
    from mayavi.markets.diffusions import JumpDiffusion as JumpDiffusion
    from mayavi.markets.diffusions import OrnsteinUhlenbeck as OrnsteinUhlenbeck
    from mayavi.markets.history import HistoricalPath as HistoricalPath
    from mayavi.markets.price_paths import PricePaths as PricePaths
    from mayavi.markets.process import PriceProcess as PriceProcess
    from mayavi.markets.series import Series as Series
    from mayavi.markets.shapes import Constant as Constant
    from mayavi.markets.shapes import Ramp as Ramp
    from mayavi.markets.shapes import Step as Step
    from mayavi.markets.shapes import Waypoints as Waypoints
    from mayavi.numerics.streams import stream as stream

_HOMES = {
    "Constant": "mayavi.markets.shapes",
    "Correlation": "mayavi.markets.correlation",
    "GeometricBrownianMotion": "mayavi.markets.diffusions",
    "HistoricalPath": "mayavi.markets.history",
    "JumpDiffusion": "mayavi.markets.diffusions",
    "OrnsteinUhlenbeck": "mayavi.markets.diffusions",
    "PricePaths": "mayavi.markets.price_paths",
    "PriceProcess": "mayavi.markets.process",
    "Ramp": "mayavi.markets.shapes",
    "Series": "mayavi.markets.series",
    "Step": "mayavi.markets.shapes",
    "Waypoints": "mayavi.markets.shapes",
    "stream": "mayavi.numerics.streams",
}


__all__ = [
    "Constant",
    "Correlation",
    "GeometricBrownianMotion",
    "HistoricalPath",
    "JumpDiffusion",
    "OrnsteinUhlenbeck",
    "PricePaths",
    "PriceProcess",
    "Ramp",
    "Series",
    "Step",
    "Waypoints",
    "stream",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'mayavi.markets' has no attribute '{name}'")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
