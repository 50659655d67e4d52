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
    """Settings of `RWAYieldRows`."""

    actions: Literal["discrete", "continuous"] = Field("continuous", description="kind of action space")
    horizon: int = Field(720, ge=1, le=100_000, description="hours until an episode is truncated: 720 are thirty days")
    initial_capital: float = Field(100_000.0, ge=1, le=1e12, description="initial capital in dollars")
    initial_weights: Weights = Field((0.4, 0.35, 0.25), description=f"initial weights of {', '.join(ASSETS)}")
    rebalance_cost_bps: float = Field(10.0, ge=0, le=1_000, description="trading cost in basis points of the turnover")
    risk_free_rate: float = Field(4.25, ge=-50, le=100, description="risk-free rate in percent a year")
    stop_drawdown: float = Field(0.15, gt=0, le=0.99, description="drawdown from the peak that terminates an episode")
    min_weight: float = Field(0.05, ge=0, le=1 / 3, description="lowest weight of each asset after a trade")
    max_weight: float = Field(0.60, ge=1 / 3, le=1, description="highest weight of each asset after a trade")
    least_turnover: float = Field(
        0.0001, ge=0, le=1, description="smallest turnover, as a share of the value, that is traded"
    )
    lent_share: float = Field(0.5, ge=0, le=1, description="share of USDY and mETH that is supplied to Aave")
    reward: Literal["log_growth", "shaped"] = Field(
        "log_growth",
        description="`log_growth`: log growth of the value over the risk-free rate, less a penalty on its square; "
        "`shaped`: Sharpe ratio less penalties, for comparison",
    )
    risk_aversion: float = Field(
        2.0, ge=0, le=1_000, description="with `log_growth`: twice the weight of the penalty on the square"
    )
    benchmark: Literal["none", "equal_weight"] = Field(
        "none",
        description="with `log_growth`: portfolio whose reward in the same hour is subtracted; `equal_weight` is "
        "rebalanced without costs",
    )
    reward_scaling: float = Field(100.0, gt=0, le=1e9, description="factor on rewards: 100 makes them percent")
    market: dict[str, Any] = Field(
        {},
        description="parameters of `RWAModel` for simulated markets, or for columns that a file lacks",
    )
    data: str | None = Field(
        None,
        description="CSV or Parquet file of a historical market, or columns of several: "
        "`eth_price=FILE:COLUMN, btc_price=FILE:COLUMN, fed_rate=FILE:COLUMN@HOURS`",
    )
    begin: str | None = Field(None, description="with `data`: first time to use")
    end: str | None = Field(None, description="with `data`: last time to use")
    boundaries: Boundaries = Field(
        (0.6, 0.8), description="with `data`: shares of its hours at which validation and test begin"
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
