"""Settings of the borrower's environments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from mayavi.gym_env.configuration import ChainConfig

N = TypeVar("N", float, int)


def _between(least: float, most: float) -> Callable[[tuple[N, N]], tuple[N, N]]:
    """A validator: an interval must not descend and must lie strictly between two numbers."""

    def checked(interval: tuple[N, N]) -> tuple[N, N]:
        if not least < interval[0] <= interval[1] < most:
            raise PydanticCustomError(
                "interval", "it should go from one number to one no smaller, between {least} and {most}",
                {"least": least, "most": most},
            )  # fmt: skip
        return interval

    return checked


Pair = tuple[float, float]
Interval = Annotated[Pair, Field(strict=False), AfterValidator(_between(-float("inf"), float("inf")))]
"""From one number to another, both included; JSON lists are accepted. The types below are bounded as well."""
Amounts = Annotated[Pair, Field(strict=False), AfterValidator(_between(0, 10**6))]
Factors = Annotated[Pair, Field(strict=False), AfterValidator(_between(1, 1000))]
Yields = Annotated[Pair, Field(strict=False), AfterValidator(_between(-1, 100))]
Shares = Annotated[Pair, Field(strict=False), AfterValidator(_between(0, 1))]
Volatilities = Annotated[Pair, Field(strict=False), AfterValidator(_between(0, 10))]
Moves = Annotated[Pair, Field(strict=False), AfterValidator(_between(-0.95, 10))]
Lengths = Annotated[tuple[int, int], Field(strict=False), AfterValidator(_between(0, 10**5))]


class LendingConfig(ChainConfig):
    """A borrower with one collateral and one debt. The intervals are what a `drawn` start is drawn from."""

    collateral: str = Field("WETH", description="what the borrower puts up")
    debt: str = Field("USDC", description="what it owes; a stable coin, for wealth is counted in dollars")
    collateral_amount: Amounts = Field((1.0, 100.0), description="whole tokens, drawn evenly on a logarithmic scale")
    health_factor: Factors = Field((1.1, 2.5), description="where the loan is opened")
    cash_yield: Yields = Field((-0.02, 0.12), description="what dollars in the wallet earn outside, a year")
    utilisation: Shares = Field((0.5, 0.93), description="the lent share of the reserve the loan comes from")
    start_blocks: int = Field(100_000, ge=0, le=10_000_000, description="most blocks that pass before the start")
    reward: Literal["net_wealth", "carry", "guarded", "health"] = Field("net_wealth", description="what is rewarded")
    prices: Literal["constant", "shocks"] = Field("constant", description="how the collateral's price moves")
    volatility: Volatilities = Field((0.2, 0.6), description="of the price outside of shocks, a year")
    shock_chance: float = Field(0.7, ge=0, le=1, description="the share of episodes in which one shock unfolds")
    shock_size: Moves = Field((-0.45, 0.15), description="what a shock does to the price in all, as a fraction of it")
    shock_steps: Lengths = Field((4, 8), description="over how many steps a shock unfolds")


class ShockConfig(LendingConfig):
    """Twenty-four steps, sixty days on Ethereum, with prices that move and a yield worth a loan more often."""

    horizon: int = Field(24, ge=1, le=100_000, description="steps until an episode is cut off")
    cash_yield: Yields = Field((-0.05, 0.4), description="what dollars in the wallet earn outside, a year")
    prices: Literal["constant", "shocks"] = Field("shocks", description="how the collateral's price moves")
