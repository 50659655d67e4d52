"""How prices move, as a scenario says it: `{process: gbm, volatility: 80%}`.

A price begins at what the chain's oracle says, or at `start`. Steps count from 0, which is the world as it is opened; a
change `at: 12` is there when agents act in step 12. Rates are per year.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, model_validator

from mayavi.scenarios.models.quantities import Move, Positive, PositiveRatio, Ratio, RatioFromZero, Seconds, fault
from mayavi.settings.model import Model

Step = Annotated[int, Field(ge=0, le=10_000_000)]


class _Process(Model):
    start: Positive | None = None
    """The price in US dollars before the first step; without it, what the oracle says."""


class ConstantPrice(_Process):
    """The price stays."""

    process: Literal["constant"]


class _Change(_Process):
    size: Move | None = None
    """By how much: -25%."""
    to: Positive | None = None
    """Or where to, in US dollars."""
    before: Price | None = None
    """What the price does until then; without it, it stands still."""
    then: Price | None = None
    """What the price does afterwards; without it, it stays."""

    @model_validator(mode="after")
    def _one_target(self) -> _Change:
        if (self.size is None) == (self.to is None):
            raise fault("says by how much with 'size' or where to with 'to': one of the two")
        return self


class StepPrice(_Change):
    """One sudden change."""

    process: Literal["step", "jump"]
    at: Step
    """The step in which agents first see it."""


class RampPrice(_Change):
    """A change in equal parts over some steps."""

    process: Literal["ramp"]
    at: Step = 0
    """The step from which on it moves."""
    steps: Annotated[int, Field(ge=1, le=10_000_000)]
    """How many steps it takes."""


class PathPrice(_Process):
    """Prices from a file, CSV, Parquet or JSON, or written here as `data`. At a step the last price known holds."""

    process: Literal["path"]
    file: str | None = None
    """A file with a column of times and one of prices, relative to the scenario's own place."""
    data: str | None = None
    """The same as CSV text: time,price."""
    time: str | None = None
    """The column of times; without it, it is found by its name."""
    price: str | None = None
    """The column of prices."""
    order: Literal["ascending", "descending"] = "ascending"
    """How the rows follow in time: descending is from new to old."""
    decimals: Annotated[int, Field(ge=0, le=77)] | None = None
    """For prices that are integers with so many decimals, as feeds answer: 8."""
    skip_blank: bool = False
    """Leave out rows without a price."""
    keep_last: bool = False
    """Of rows at one moment keep the last."""
    begin: str | int | None = None
    """The moment of the file at which the run begins: 2023-03-11T04:00:00Z. Without it, its first."""
    anchored: bool = False
    """Scale the series so that it begins at `start`, or at what the oracle says."""
    fill: Literal["error", "hold", "linear"] = "error"
    """What a gap is: an error, or filled with the last price or a straight line."""
    max_gap: PositiveRatio = Decimal(3)
    """A gap is a longer time without a price than so many times the usual one."""

    @model_validator(mode="after")
    def _one_source(self) -> PathPrice:
        if (self.file is None) == (self.data is None):
            raise fault("needs its prices from a 'file' or as 'data': one of the two")
        return self


class GbmPrice(_Process):
    """Geometric Brownian motion: what share prices are usually taken to do."""

    process: Literal["gbm"]
    volatility: RatioFromZero
    """Of the price in a year: 80%."""
    drift: Ratio = Decimal(0)
    """By how much it grows in a year on average."""


class OrnsteinUhlenbeckPrice(_Process):
    """A peg: the price is drawn back to its mean, half of the way in `half_life`."""

    process: Literal["ornstein_uhlenbeck", "peg"]
    mean: Positive | None = None
    """Without it, where it starts."""
    half_life: Seconds
    """The time in which half of a distance from the mean is gone: 6h."""
    volatility: RatioFromZero
    """Of the price in a year: 80%."""


class JumpDiffusionPrice(_Process):
    """Merton's model: Brownian motion with jumps at random times, their sizes log-normal."""

    process: Literal["jump_diffusion"]
    volatility: RatioFromZero
    """Of the price in a year: 80%. Without the jumps."""
    drift: Ratio = Decimal(0)
    """By how much it grows in a year on average, jumps included."""
    jumps_per_year: RatioFromZero
    """How many jumps there are on average."""
    jump_mean: Move
    """By how much a jump moves the price on average: -10%."""
    jump_deviation: RatioFromZero
    """The standard deviation of the logarithm of its size; 0 makes all jumps alike."""


Price = Annotated[
    ConstantPrice | StepPrice | RampPrice | PathPrice | GbmPrice | OrnsteinUhlenbeckPrice | JumpDiffusionPrice,
    Field(discriminator="process"),
]
