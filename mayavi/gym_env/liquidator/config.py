"""Settings of the liquidator's environment."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mayavi.gym_env.configuration import ChainConfig
from mayavi.gym_env.lending.config import Interval


class LiquidatorConfig(ChainConfig):
    """The intervals are what a `drawn` start is drawn from; a `fixed` one takes their middles."""

    horizon: int = Field(24, ge=1, le=100_000, description="steps until an episode is cut off")
    step_blocks: int = Field(50, ge=1, le=10_000_000, description="blocks that pass in a step: 50 are ten minutes")
    borrowers: int = Field(6, ge=1, le=32, description="accounts in the book")
    collateral: Interval = Field((50.0, 1000.0), description="WETH of a borrower, evenly on a logarithmic scale")
    health_factor: Interval = Field((1.04, 1.3), description="where loans are opened; Aave lends from 1.0311 on")
    shock: Interval = Field((0.05, 0.25), description="by what share the price of WETH falls")
    shock_steps: Interval = Field((1.0, 8.0), description="steps in which it falls")
    rebound: Interval = Field((0.0, 0.6), description="the share of the fall that is made good in as many steps after")
    volatility: Interval = Field((0.4, 1.2), description="of the price besides, a year; `fixed`: none")
    start_level: float = Field(0.05, ge=0, le=0.5, description="drawn: the price starts up to so much off the world's")
    start_blocks: int = Field(7_200, ge=0, le=10_000_000, description="drawn: episodes start up to so much later")
    pool_depth: float = Field(
        1.0, gt=0, le=1, description="the share of the pool's liquidity that is there: 0.02 makes sales expensive"
    )
    recovery: Interval = Field(
        (0.9, 1.0), description="the share of its way to the reference price that arbitrage takes the pool in a step"
    )
    capital: float | None = Field(None, gt=0, le=1e12, description="USDC the liquidator has; without it enough")
    gas_price_gwei: Interval = Field((10.0, 60.0), description="what it pays for gas")
    reward: Literal["profit", "at_end"] = Field(
        "profit", description="`profit` of each step, or the sum of it `at_end`; both over the scale of the episode"
    )
