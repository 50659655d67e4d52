"""Settings of price processes: `{process: gbm, volatility: 80%}`.

A price begins at the oracle's, or at `start`. Steps count from 0, the initial world; agents of step 12 see a change
`at: 12`. Rates are per year.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from mayavi.scenarios.models.assumptions.marks import Mark
from mayavi.scenarios.models.values.quantities import (
    Move,
    Positive,
    PositiveRatio,
    Ratio,
    RatioFromZero,
    Seconds,
    fault,
)
from mayavi.settings.model import Model

Step = Annotated[int, Field(ge=0, le=10_000_000), Mark.IN_STEPS]


class _Process(Model):
    question_fields: ClassVar[frozenset[str]] = frozenset({"process", "start"})
    """Fields that are no assumptions, and that `mayavi sensitivity` leaves alone."""

    start: Positive | None = None
    """Price in US dollars before the first step; by default the oracle's."""


class ConstantPrice(_Process):
    """A constant price."""

    process: Literal["constant"]


class _Change(_Process):
    question_fields: ClassVar[frozenset[str]] = frozenset({"size", "to", "at", "steps"})

    size: Move | None = None
    """Relative change, such as -25%."""
    to: Positive | None = None
    """New price in US dollars; give this or `size`."""
    before: Price | None = None
    """Process before the change; by default constant."""
    then: Price | None = None
    """Process after the change; by default constant."""

    @model_validator(mode="after")
    def _one_target(self) -> _Change:
        if (self.size is None) == (self.to is None):
            raise fault("changes by a 'size' or 'to' a price: give one of the two")
        return self


class StepPrice(_Change):
    """One sudden change."""

    process: Literal["step", "jump"]
    at: Step
    """Step in which agents first see the change."""


class RampPrice(_Change):
    """A change in equal parts over several steps."""

    process: Literal["ramp"]
    at: Step = 0
    """Step at which the change begins."""
    steps: Annotated[int, Field(ge=1, le=10_000_000), Mark.IN_STEPS]
    """Number of steps of the change."""


class PathPrice(_Process):
    """Prices from a CSV, Parquet or JSON file, or from `data`. A step uses the last known price."""

    question_fields: ClassVar[frozenset[str]] = frozenset(
        {"order", "decimals", "skip_blank", "keep_last", "anchored", "fill", "max_gap"}
    )

    process: Literal["path"]
    file: str | None = None
    """File with columns of times and prices, relative to the scenario's folder."""
    data: str | None = None
    """Times and prices as CSV text: time,price."""
    time: str | None = None
    """Column of times; by default found by its name."""
    price: str | None = None
    """Column of prices; by default found by its name."""
    order: Literal["ascending", "descending"] = "ascending"
    """Order of rows in time; descending is newest first."""
    decimals: Annotated[int, Field(ge=0, le=77)] | None = None
    """Number of decimals of integer prices as feeds answer them, such as 8."""
    skip_blank: bool = False
    """Skip rows without a price."""
    keep_last: bool = False
    """Keep the last of several rows at one time."""
    begin: str | int | None = None
    """Time in the file at which the run begins, such as 2023-03-11T04:00:00Z; by default its first."""
    anchored: bool = False
    """Scale the series to begin at `start`, or at the oracle's price."""
    fill: Literal["error", "hold", "linear"] = "error"
    """Treatment of gaps: an error, or filled with the last price or a straight line."""
    max_gap: PositiveRatio = Decimal(3)
    """Shortest gap, as a multiple of the usual time between prices."""

    @model_validator(mode="after")
    def _one_source(self) -> PathPrice:
        if (self.file is None) == (self.data is None):
            raise fault("needs prices from a 'file' or as 'data': give one of the two")
        return self


class GbmPrice(_Process):
    """Geometric Brownian motion."""

    process: Literal["gbm"]
    volatility: RatioFromZero
    """Volatility per year, such as 80%."""
    drift: Ratio = Decimal(0)
    """Average growth per year."""


class OrnsteinUhlenbeckPrice(_Process):
    """A peg: an Ornstein-Uhlenbeck process that returns to its mean, half of the way in `half_life`."""

    question_fields: ClassVar[frozenset[str]] = frozenset({"mean"})

    process: Literal["ornstein_uhlenbeck", "peg"]
    mean: Positive | None = None
    """Mean price; by default the initial price."""
    half_life: Seconds
    """Time in which the distance from the mean halves, such as 6h."""
    volatility: RatioFromZero
    """Volatility per year, such as 80%."""


class JumpDiffusionPrice(_Process):
    """Merton's jump diffusion: Brownian motion with log-normal jumps at random times."""

    process: Literal["jump_diffusion"]
    volatility: RatioFromZero
    """Volatility per year without the jumps, such as 80%."""
    drift: Ratio = Decimal(0)
    """Average growth per year, jumps included."""
    jumps_per_year: RatioFromZero
    """Average number of jumps per year."""
    jump_mean: Move
    """Average relative size of a jump, such as -10%."""
    jump_deviation: RatioFromZero
    """Standard deviation of the logarithm of a jump; 0 makes all jumps equal."""


Price = Annotated[
    ConstantPrice | StepPrice | RampPrice | PathPrice | GbmPrice | OrnsteinUhlenbeckPrice | JumpDiffusionPrice,
    Field(discriminator="process"),
]
