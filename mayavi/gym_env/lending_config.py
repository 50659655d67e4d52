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
Above0 = Annotated[tuple[Annotated[float, Field(gt=0)], float], Field(strict=False), AfterValidator(_ascending)]
Share = Annotated[float, Field(ge=0, le=1)]
Fall = Annotated[tuple[Annotated[float, Field(gt=-0.95)], float], Field(strict=False), AfterValidator(_ascending)]


class LendingConfig(EnvConfig):
    """A borrower with one collateral and one debt. The intervals are what a `drawn` start is drawn from."""

    collateral: str = Field("WETH", description="what the borrower puts up")
    debt: str = Field("USDC", description="what it owes; a stable coin, for wealth is counted in dollars")
    collateral_amount: Above0 = Field((1.0, 100.0), description="whole tokens, drawn evenly on a logarithmic scale")
    health_factor: Above0 = Field((1.1, 2.5), description="where the loan is opened")
    cash_yield: Interval = Field((-0.02, 0.12), description="what dollars in the wallet earn outside, a year")
    utilisation: Above0 = Field((0.5, 0.93), description="the lent share of the reserve the loan comes from")
    start_blocks: int = Field(100_000, ge=0, le=10_000_000, description="most blocks that pass before the start")
    reward: Literal["net_wealth", "carry", "health"] = Field("net_wealth", description="what is rewarded")
    prices: Literal["constant", "shocks"] = Field("constant", description="how the collateral's price moves")
    volatility: Above0 = Field((0.3, 0.9), description="of the price outside of shocks, a year")
    shock_chance: Share = Field(0.7, description="the share of episodes in which one shock unfolds")
    shock_size: Fall = Field((-0.45, 0.15), description="what a shock does to the price in all, as a fraction of it")
    shock_steps: tuple[int, int] = Field((3, 6), strict=False, description="over how many steps a shock unfolds")


class ShockConfig(LendingConfig):
    """Twenty-four steps, sixty days on Ethereum, with prices that move and a yield worth a loan more often."""

    horizon: int = Field(24, ge=1, le=100_000, description="steps until an episode is cut off")
    cash_yield: Interval = Field((-0.05, 0.4), description="what dollars in the wallet earn outside, a year")
    prices: Literal["constant", "shocks"] = Field("shocks", description="how the collateral's price moves")
