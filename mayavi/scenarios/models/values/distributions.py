"""Distributions in scenarios: `{uniform: [1.05, 2.5]}`, or one number for all members of a population."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from mayavi.scenarios.models.values.quantities import PositiveRatio, Ratio, RatioFromZero, fault, ratio_of
from mayavi.settings.model import Model

Range = Annotated[list[Ratio], Field(min_length=2, max_length=2)]


class Constant(Model):
    """One value for all."""

    constant: Ratio


class Uniform(Model):
    """Uniform between two bounds."""

    uniform: Range

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        if self.uniform[0] > self.uniform[1]:
            raise fault(f"goes from {self.uniform[0]} down to {self.uniform[1]}; give the lower bound first")
        return self


class NormalParameters(Model):
    """Mean and standard deviation; values outside `between` are drawn again."""

    mean: Ratio
    deviation: RatioFromZero
    between: Range | None = None


class Normal(Model):
    """Normal distribution."""

    normal: NormalParameters


class LogNormalParameters(Model):
    """Median, and standard deviation `sigma` of the logarithm."""

    median: PositiveRatio
    sigma: RatioFromZero
    between: Range | None = None


class LogNormal(Model):
    """Log-normal distribution, such as account sizes: many small, few large."""

    lognormal: LogNormalParameters


class ParetoParameters(Model):
    """Lowest value, and `shape`: the smaller, the heavier the tail."""

    minimum: PositiveRatio
    shape: PositiveRatio
    maximum: PositiveRatio | None = None


class Pareto(Model):
    """Pareto distribution, a power law."""

    pareto: ParetoParameters


class Choice(Model):
    """One of several values, equally likely or with weights: `{1.2: 3, 2.0: 1}`."""

    choice: Annotated[list[Ratio], Field(min_length=1)] | Annotated[dict[str, RatioFromZero], Field(min_length=1)]

    @model_validator(mode="after")
    def _some_weight(self) -> Choice:
        if isinstance(self.choice, dict):
            for key in self.choice:
                ratio_of(key)
            if not sum(self.choice.values()):
                raise fault("has no weight above zero")
        return self


def lowest(what: Constant | Uniform | Normal | LogNormal | Pareto | Choice) -> Decimal | None:
    """Return the lowest value that can be drawn; None if unbounded or unknown."""
    if isinstance(what, Constant):
        return what.constant
    if isinstance(what, Uniform):
        return what.uniform[0]
    if isinstance(what, Pareto):
        return what.pareto.minimum
    if isinstance(what, Choice):
        weights = what.choice if isinstance(what.choice, dict) else dict.fromkeys(map(str, what.choice), 1)
        return min(ratio_of(value) for value, weight in weights.items() if weight)
    between = what.normal.between if isinstance(what, Normal) else what.lognormal.between
    return between[0] if between else None


def _form(value: Any) -> str | None:
    if isinstance(value, Model):
        return type(value).__name__.lower()
    return str(next(iter(value))) if isinstance(value, dict) and len(value) == 1 else None


def _number_for_all(value: Any) -> Any:
    if isinstance(value, dict | Model):
        return value
    return {"constant": value}


Distribution = Annotated[
    Annotated[Constant, Tag("constant")]
    | Annotated[Uniform, Tag("uniform")]
    | Annotated[Normal, Tag("normal")]
    | Annotated[LogNormal, Tag("lognormal")]
    | Annotated[Pareto, Tag("pareto")]
    | Annotated[Choice, Tag("choice")],
    Discriminator(_form),
    BeforeValidator(
        _number_for_all,
        json_schema_input_type=float | str | Constant | Uniform | Normal | LogNormal | Pareto | Choice,
    ),
]
