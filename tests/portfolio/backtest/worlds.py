"""Small portfolios for tests: short episodes in drawn markets, and a market of the past in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mayavi.gym_env.configuration import configured
from mayavi.numerics.streams import stream
from mayavi.portfolio.backtest.backtest import BacktestSettings
from mayavi.portfolio.env.config import RWAConfig
from mayavi.portfolio.env.env import RWAYieldRows
from mayavi.portfolio.market.history import write_rwa
from mayavi.portfolio.market.model import RWAModel
from mayavi.statistics.bootstrap import Bootstrap

SHORT = {"horizon": 48, "split": "test"}
QUICK = BacktestSettings(episodes=60, bootstrap=Bootstrap(resamples=300), block_hours=24)


def config_with(**settings: Any) -> RWAConfig:
    return configured(RWAConfig, {**SHORT, **settings})


def making(**settings: Any) -> Callable[[int], RWAYieldRows]:
    config = config_with(**settings)
    return lambda rows: RWAYieldRows(config, rows)


def started(rows: int, **settings: Any) -> RWAYieldRows:
    env = making(**settings)(rows)
    env.begin(range(rows), range(rows))
    return env


def past_market(folder: Path, hours: int = 2_400) -> Path:
    """A file of a market: what the model drew once, as if it had been."""
    file = folder / "past.csv"
    write_rwa(RWAModel().draw([stream(5, "past")], hours), file, begin="2024-01-01T00:00:00Z")
    return file


class Fixed:
    """A policy that asks for the same weights whatever it sees, and counts how often it is asked."""

    recurrent = False

    def __init__(self, *weights: float) -> None:
        self.weights, self.asked = np.array(weights), 0

    def actions(self, observations: Any, state: Any, **_: Any) -> tuple[Any, Any]:
        self.asked += 1
        return np.tile((2 * self.weights - 1).astype(np.float32), (len(observations), 1)), state
