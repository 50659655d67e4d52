"""Settings of the market of several agents, and the names of its roles."""

from __future__ import annotations

from pydantic import Field

from mayavi.gym_env.lending.config import Interval
from mayavi.gym_env.liquidator.config import LiquidatorConfig

ROLES = BORROWER, LIQUIDATOR = "borrower", "liquidator"
"""The two kinds of agents: one policy plays all agents of a kind."""


class MarketConfig(LiquidatorConfig):
    """Borrowers that act and liquidators that compete. `reward` and `capital` are those of each liquidator."""

    step_blocks: int = Field(7_200, ge=2, le=10_000_000, description="blocks that pass in a step: 7,200 are a day")
    borrowers: int = Field(4, ge=1, le=32, description="agents that borrow")
    liquidators: int = Field(2, ge=1, le=16, description="agents that liquidate")
    capital: float | None = Field(1_000_000.0, gt=0, le=1e12, description="USDC of each liquidator; null: enough")
    cash_yield: Interval = Field(
        (-0.02, 0.12), description="what a borrower's dollars earn outside, a year; `fixed`: none"
    )
