"""What the borrower's environments can be told, beside what all environments can."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from mayavi.gym_env.configuration import EnvConfig


def _ascending(interval: tuple[float, float]) -> tuple[float, float]:
    if interval[0] > interval[1]:
        raise ValueError("it ends before it begins")
    return interval


Interval = Annotated[tuple[float, float], Field(strict=False), AfterValidator(_ascending)]
"""From the one to the other, both included."""
Positive = Annotated[float, Field(gt=0)]


class LendingConfig(EnvConfig):
    """A borrower with one collateral and one debt. The intervals are what a `drawn` start is drawn from."""

    collateral: str = Field("WETH", description="what the borrower puts up")
    debt: str = Field("USDC", description="what it owes; a stable coin, for wealth is counted in dollars")
    collateral_amount: Interval = Field((1.0, 100.0), description="whole tokens, drawn evenly on a logarithmic scale")
    health_factor: Interval = Field((1.1, 2.5), description="where the loan is opened")
    cash_yield: Interval = Field((-0.02, 0.12), description="what dollars in the wallet earn outside, a year")
    utilisation: Interval = Field((0.5, 0.93), description="the lent share of the reserve the loan comes from")
    start_blocks: int = Field(100_000, ge=0, le=10_000_000, description="most blocks that pass before the start")
    reward: Literal["net_wealth", "carry", "health"] = Field("net_wealth", description="what is rewarded")
