"""Portfolios for tests, their markets and their sums by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.gym_env import make_rows
from mayavi.gym_env.episodes import episode_stream
from mayavi.portfolio.env.config import LOOKBACK
from mayavi.portfolio.env.env import RWAYieldRows
from mayavi.portfolio.market.assets import growth, trade_gas_usd
from mayavi.portfolio.market.data import COLUMNS, RWAMarket
from mayavi.portfolio.market.model import RWAModel
from tests.portfolio.env.by_hand import PortfolioByHand

WITHOUT_COSTS = {"rebalance_cost_bps": 0.0, "least_turnover": 0.0, "market": {"gas_median": 1e-12}}


def rwa(rows: int = 1, **settings: Any) -> RWAYieldRows:
    env = make_rows("rwa", rows, **settings)
    assert isinstance(env, RWAYieldRows)
    return env


def market_of(env: RWAYieldRows, episode: int) -> RWAMarket:
    """The market of an episode, lookback and all."""
    model = replace(RWAModel(), **env.config.market)
    return model.draw([episode_stream("rwa", env.config.split, episode)], LOOKBACK + env.config.horizon)


def by_hand(env: RWAYieldRows, episode: int) -> PortfolioByHand:
    market = market_of(env, episode)
    inputs = {name: market.column(name)[0].tolist() for name in COLUMNS}
    factors = growth(market.values, env.config.lent_share)[0].tolist()
    return PortfolioByHand(env.config, inputs, factors, trade_gas_usd(market.values)[0].tolist(), LOOKBACK)


def requests(rng: np.random.Generator, env: RWAYieldRows, at: int) -> NDArray[np.float32]:
    """Any action; now and then what is held already."""
    drawn = rng.uniform(-1, 1, (env.rows, 3)).astype(np.float32)
    return env.holding_actions() if at % 5 == 4 else drawn
