"""Settings of the multi-agent market, and the names of its roles."""

from __future__ import annotations

from pydantic import Field

from mayavi.gym_env.lending.config import Interval
from mayavi.gym_env.liquidator.config import LiquidatorConfig

ROLES = BORROWER, LIQUIDATOR = "borrower", "liquidator"
"""Roles of the market; one policy plays all agents of a role."""


class MarketConfig(LiquidatorConfig):
    """Settings of `AaveMarketEnv`. `reward` and `capital` apply to each liquidator."""

    step_blocks: int = Field(7_200, ge=2, le=10_000_000, description="blocks per step; 7,200 are a day")
    borrowers: int = Field(4, ge=1, le=32, description="number of borrowers")
    liquidators: int = Field(2, ge=1, le=16, description="number of liquidators")
    capital: float | None = Field(1_000_000.0, gt=0, le=1e12, description="USDC of each liquidator; null: unlimited")
    cash_yield: Interval = Field((-0.02, 0.12), description="annual yield of a borrower's dollars; `fixed`: none")
