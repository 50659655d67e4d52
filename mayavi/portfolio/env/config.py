"""Settings of the portfolio environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from mayavi.gym_env.configuration import EnvConfig
from mayavi.portfolio.market.data import ASSETS
from mayavi.portfolio.market.sources import data_files, relocate

LOOKBACK = 168
"""Hours of market history known at the start of an episode: a week."""


def _rising_shares(both: tuple[float, float]) -> tuple[float, float]:
    if not 0 < both[0] <= both[1] < 1:
        raise PydanticCustomError("shares", "it should be two shares between 0 and 1, the second no smaller")
    return both


def _weights(given: tuple[float, ...]) -> tuple[float, ...]:
    if min(given) < 0 or abs(sum(given) - 1) > 1e-9:
        raise PydanticCustomError("weights", "it should be three weights that add up to one")
    return given


Boundaries = Annotated[tuple[float, float], Field(strict=False), AfterValidator(_rising_shares)]
Weights = Annotated[tuple[float, float, float], Field(strict=False), AfterValidator(_weights)]


class RWAConfig(EnvConfig):
    """Settings of `RWAYieldEnv`."""

    actions: Literal["discrete", "continuous"] = Field("continuous", description="the kind of action space")
    horizon: int = Field(720, ge=1, le=100_000, description="hours until an episode is cut off: 720 are thirty days")
    initial_capital: float = Field(100_000.0, ge=1, le=1e12, description="dollars at the start")
    initial_weights: Weights = Field((0.4, 0.35, 0.25), description=f"at the start, of {', '.join(ASSETS)}")
    rebalance_cost_bps: float = Field(10.0, ge=0, le=1_000, description="hundredths of a percent of what is traded")
    risk_free_rate: float = Field(4.25, ge=-50, le=100, description="percent a year that growth is measured against")
    stop_drawdown: float = Field(
        0.15, gt=0, le=0.99, description="an episode terminates when the value falls this far below its peak"
    )
    min_weight: float = Field(0.05, ge=0, le=1 / 3, description="of each asset, after every decision")
    max_weight: float = Field(0.60, ge=1 / 3, le=1, description="of each asset, after every decision")
    least_turnover: float = Field(
        0.0001, ge=0, le=1, description="what would trade less of the value than this is not traded"
    )
    lent_share: float = Field(0.5, ge=0, le=1, description="the part of USDY and mETH that is supplied to Aave")
    reward: Literal["log_growth", "seed"] = Field(
        "log_growth",
        description="`log_growth`: of the value, less the risk-free rate, less what its square costs; `seed`: a shaped "
        "reward, for comparison",
    )
    risk_aversion: float = Field(2.0, ge=0, le=1_000, description="with `log_growth`: half of it times the square")
    benchmark: Literal["none", "equal_weight"] = Field(
        "none",
        description="with `log_growth`: what a third of each, rebalanced for nothing, would have been rewarded with in "
        "the same hour is taken off",
    )
    reward_scaling: float = Field(100.0, gt=0, le=1e9, description="rewards are multiplied by it: 100 is in percent")
    market: dict[str, Any] = Field(
        {},
        description="parameters of `RWAModel` that differ, of the drawn market or of what a file lacks",
    )
    data: str | None = Field(
        None,
        description="a CSV or Parquet file of a real market instead of drawn ones, or columns of several: "
        "`eth_price=FILE:COLUMN, btc_price=FILE:COLUMN, fed_rate=FILE:COLUMN@HOURS`",
    )
    begin: str | None = Field(None, description="with `data`: the time from which it is used")
    end: str | None = Field(None, description="with `data`: the time up to which it is used")
    boundaries: Boundaries = Field(
        (0.6, 0.8), description="with `data`: the shares of its hours at which validation and test begin"
    )

    def data_files(self) -> list[str]:
        """Paths of the files that `data` names."""
        return [] if self.data is None else data_files(self.data)

    def with_data_files(self, places: Mapping[str, str]) -> dict[str, object]:
        """`data` with its files at `places`."""
        return {} if self.data is None else {"data": relocate(self.data, places)}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.data is None and (self.begin is not None or self.end is not None):
            raise PydanticCustomError("rwa", "begin and end choose a part of a file; give data too")
        if self.benchmark != "none" and self.reward != "log_growth":
            raise PydanticCustomError("rwa", "a benchmark belongs to log_growth; leave it out, or take that reward")
        return self
