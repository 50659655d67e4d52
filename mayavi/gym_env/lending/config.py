"""Settings of the borrower environments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from mayavi.gym_env.configuration import ChainConfig

N = TypeVar("N", float, int)


def _between(least: float, most: float) -> Callable[[tuple[N, N]], tuple[N, N]]:
    """Validator of ascending intervals strictly between `least` and `most`."""

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
"""Closed interval; JSON lists are accepted. The types below are bounded as well."""
Amounts = Annotated[Pair, Field(strict=False), AfterValidator(_between(0, 10**6))]
Factors = Annotated[Pair, Field(strict=False), AfterValidator(_between(1, 1000))]
Yields = Annotated[Pair, Field(strict=False), AfterValidator(_between(-1, 100))]
Shares = Annotated[Pair, Field(strict=False), AfterValidator(_between(0, 1))]
Volatilities = Annotated[Pair, Field(strict=False), AfterValidator(_between(0, 10))]
Moves = Annotated[Pair, Field(strict=False), AfterValidator(_between(-0.95, 10))]
Lengths = Annotated[tuple[int, int], Field(strict=False), AfterValidator(_between(0, 10**5))]


class LendingConfig(ChainConfig):
    """Settings of a borrower with one collateral and one debt. A `drawn` start is drawn from the intervals."""

    collateral: str = Field("WETH", description="collateral asset")
    debt: str = Field("USDC", description="debt asset: a stablecoin, because wealth is counted in dollars")
    collateral_amount: Amounts = Field((1.0, 100.0), description="whole tokens, log-uniform")
    health_factor: Factors = Field((1.1, 2.5), description="initial health factor")
    cash_yield: Yields = Field((-0.02, 0.12), description="annual yield of dollars in the wallet")
    utilisation: Shares = Field((0.5, 0.93), description="utilisation of the debt reserve")
    start_blocks: int = Field(100_000, ge=0, le=10_000_000, description="most blocks before the start of an episode")
    reward: Literal["net_wealth", "carry", "guarded", "health"] = Field("net_wealth", description="reward function")
    prices: Literal["constant", "shocks"] = Field("constant", description="price process of the collateral")
    volatility: Volatilities = Field((0.2, 0.6), description="annual volatility of the price, without shocks")
    shock_chance: float = Field(0.7, ge=0, le=1, description="share of episodes with a shock")
    shock_size: Moves = Field((-0.45, 0.15), description="relative price change of a shock")
    shock_steps: Lengths = Field((4, 8), description="steps over which a shock unfolds")


class ShockConfig(LendingConfig):
    """Settings with price shocks: 24 steps, sixty days on Ethereum, and a wider range of yields."""

    horizon: int = Field(24, ge=1, le=100_000, description="steps until an episode is truncated")
    cash_yield: Yields = Field((-0.05, 0.4), description="annual yield of dollars in the wallet")
    prices: Literal["constant", "shocks"] = Field("shocks", description="price process of the collateral")
