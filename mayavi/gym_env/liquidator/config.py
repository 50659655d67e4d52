"""Settings of the liquidator environment."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mayavi.gym_env.configuration import ChainConfig
from mayavi.gym_env.lending.config import Interval


class LiquidatorConfig(ChainConfig):
    """Settings of `AaveLiquidatorRows`. A `drawn` start draws from the intervals; a `fixed` one takes their middles."""

    horizon: int = Field(24, ge=1, le=100_000, description="steps until an episode is truncated")
    step_blocks: int = Field(50, ge=1, le=10_000_000, description="blocks per step; 50 are ten minutes")
    borrowers: int = Field(6, ge=1, le=32, description="borrowing accounts")
    collateral: Interval = Field((50.0, 1000.0), description="WETH of a borrower, log-uniform")
    health_factor: Interval = Field(
        (1.04, 1.3), description="initial health factor of the loans; Aave lends from 1.0311 on"
    )
    shock: Interval = Field((0.05, 0.25), description="size of the price shock, as a share of the WETH price")
    shock_steps: Interval = Field((1.0, 8.0), description="steps in which the price falls")
    rebound: Interval = Field((0.0, 0.6), description="share of the fall that is recovered in as many steps afterwards")
    volatility: Interval = Field((0.4, 1.2), description="annual volatility of the price; `fixed`: none")
    start_level: float = Field(
        0.05, ge=0, le=0.5, description="drawn: largest relative deviation of the first price from the world's"
    )
    start_blocks: int = Field(
        7_200, ge=0, le=10_000_000, description="drawn: most blocks before the start of an episode"
    )
    pool_depth: float = Field(
        1.0, gt=0, le=1, description="share of the pool's liquidity that remains; 0.02 makes sales expensive"
    )
    recovery: Interval = Field(
        (0.9, 1.0), description="share of the gap to the reference price that arbitrage closes in a step"
    )
    capital: float | None = Field(None, gt=0, le=1e12, description="USDC of the liquidator; null: unlimited")
    gas_price_gwei: Interval = Field((10.0, 60.0), description="gas price")
    reward: Literal["profit", "at_end"] = Field(
        "profit", description="`profit` of each step, or its sum `at_end`; both divided by the scale of the episode"
    )
