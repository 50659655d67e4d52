"""Distributions of amounts, leverage and behaviours: seeded, vectorised, prefix-stable.

A population of 1,000 begins with the population of 100 drawn from a generator in the same state.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import BadArgument, UnknownName
from mayavi.markets.distribution_spec import number_of, parameters_of, spec_of_text
from mayavi.markets.process import Floats
from mayavi.numerics import portable
from mayavi.numerics.parameters import above_zero, at_least_zero, finite, whole


class Distribution(ABC):
    """Distribution to sample from. Stateless: holds only parameters."""

    def sample(self, count: int, rng: np.random.Generator) -> NDArray[Any]:
        """Draw `count` values; `rng` is the only source of randomness and advances."""
        whole("count", count, 0, "how many values to draw")
        return self._draw(int(count), rng)

    @abstractmethod
    def _draw(self, count: int, rng: np.random.Generator) -> NDArray[Any]: ...


@dataclass(frozen=True, slots=True)
class Constant(Distribution):
    """The same `value` every time."""

    value: float

    def __post_init__(self) -> None:
        finite("value", self.value)

    def _draw(self, count: int, rng: np.random.Generator) -> Floats:
        del rng
        return np.full(count, float(self.value))


@dataclass(frozen=True, slots=True)
class Uniform(Distribution):
    """Uniform between `low` and `high`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_bounds(self.low, self.high)

    def _draw(self, count: int, rng: np.random.Generator) -> Floats:
        return np.clip(self.low + (self.high - self.low) * rng.random(count), self.low, self.high)


@dataclass(frozen=True, slots=True)
class Normal(Distribution):
    """Normal with `mean` and standard `deviation`; values outside `low` and `high`, if given, are redrawn."""

    mean: float
    deviation: float
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        finite("mean", self.mean)
        at_least_zero("deviation", self.deviation, "a standard deviation is zero or more")
        _check_likely(self, self.mean, self.deviation, self.low, self.high)

    def _draw(self, count: int, rng: np.random.Generator) -> Floats:
        return _draw_within(lambda n: self.mean + self.deviation * rng.standard_normal(n), count, self.low, self.high)


@dataclass(frozen=True, slots=True)
class LogNormal(Distribution):
    """Log-normal with `median`; the logarithm has standard deviation `sigma`. Bounds as in `Normal`."""

    median: float
    sigma: float
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        above_zero("median", self.median)
        at_least_zero(
            "sigma", self.sigma, "the standard deviation of the logarithm is zero or more: 1 is a factor of 2.7"
        )
        if self.low is not None and self.high is not None:
            _check_bounds(self.low, self.high)
        low = None if self.low is None else math.log(max(finite("low", self.low), 5e-324))
        high = None if self.high is None else math.log(above_zero("high", self.high))
        _check_likely(self, math.log(self.median), self.sigma, low, high)

    def _draw(self, count: int, rng: np.random.Generator) -> Floats:
        return _draw_within(
            lambda n: self.median * portable.exp(self.sigma * rng.standard_normal(n)), count, self.low, self.high
        )


@dataclass(frozen=True, slots=True)
class Pareto(Distribution):
    """Pareto, few large and many small: P(X > x) = (minimum / x)^alpha. Values above `high`, if given, are redrawn.

    The mean is alpha / (alpha - 1)·minimum; without a `high` it exists only for alpha above 1.
    """

    minimum: float
    alpha: float
    high: float | None = None

    def __post_init__(self) -> None:
        above_zero("minimum", self.minimum, "the least value a Pareto distribution has is more than zero")
        above_zero("alpha", self.alpha, "1.16 is the 80/20 rule; smaller is more unequal")
        if self.high is not None:
            _check_bounds(self.minimum, self.high)
            if 1 - (self.minimum / self.high) ** self.alpha < _LEAST_SHARE:
                raise BadArgument(f"almost no value is below the bound '{self.high}' of {self}", "widen the bound")

    def _draw(self, count: int, rng: np.random.Generator) -> Floats:
        def draw(n: int) -> Floats:
            above = 1.0 - rng.random(n)  # in (0, 1]
            drawn: Floats = self.minimum * portable.exp(portable.log(above) * (-1.0 / self.alpha))
            return drawn

        return _draw_within(draw, count, None, self.high)


@dataclass(frozen=True, slots=True)
class Choice(Distribution):
    """One of `options`, numbers or names, with relative `weights`."""

    options: tuple[Any, ...]
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not self.options:
            raise BadArgument("there is nothing to choose from", "give at least one option")
        if self.weights is None:
            return
        if len(self.weights) != len(self.options):
            raise BadArgument(
                f"{len(self.options)} options have {len(self.weights)} weights",
                "give each option one weight, or none at all",
            )
        for option, weight in zip(self.options, self.weights, strict=True):
            at_least_zero(f"weight of {option}", weight)
        if not sum(self.weights):
            raise BadArgument("all weights are zero", "give at least one option a weight above zero")

    def _draw(self, count: int, rng: np.random.Generator) -> NDArray[Any]:
        weights = self.weights or (1.0,) * len(self.options)
        ends = np.cumsum(np.array(weights, dtype=np.float64))
        drawn = np.searchsorted(ends, rng.random(count) * ends[-1], side="right")
        chosen: NDArray[Any] = np.array(self.options)[np.minimum(drawn, len(self.options) - 1)]
        return chosen


DISTRIBUTIONS: dict[str, type[Distribution]] = {
    "constant": Constant,
    "uniform": Uniform,
    "normal": Normal,
    "lognormal": LogNormal,
    "pareto": Pareto,
    "choice": Choice,
}
"""Distributions by their name in a scenario."""

Spec = float | str | Mapping[str, float | str | Sequence[Any] | Mapping[Any, Any]]


def distribution_of(spec: Spec | Distribution) -> Distribution:
    """Return the distribution that `spec` describes, in every form that a scenario takes, as data or as YAML.

    A number or percentage is a constant: `1.5`, `"150%"`. A mapping names the distribution and its parameters:
    `{"uniform": [1.05, 2.5]}`, `{"lognormal": {"median": 10_000, "sigma": 1, "between": [100, 1e6]}}`,
    `{"choice": {1.2: 3, 2.0: 1}}` with weights; `"{uniform: [1.05, 2.5]}"` is the same as text. Parameters may also
    have their names here, `low` and `high`, or go by position.
    """
    if isinstance(spec, Distribution):
        return spec
    if isinstance(spec, str):
        spec = spec_of_text(spec)
    if not isinstance(spec, Mapping):
        return Constant(number_of(spec))
    if len(spec) != 1:
        raise BadArgument(f"a distribution has one name, not {len(spec)}", "as in {uniform: [1.05, 2.5]}")
    ((name, written),) = spec.items()
    if name not in DISTRIBUTIONS:
        raise UnknownName.of("distribution", str(name), DISTRIBUTIONS, f"there are {', '.join(DISTRIBUTIONS)}")
    kind: Any = DISTRIBUTIONS[name]
    known = [each.name for each in fields(kind)]
    parameters = parameters_of(name, written)
    if isinstance(parameters, Mapping):
        for key in parameters:
            if key not in known:
                raise UnknownName.of(f"parameter of {name}", str(key), known, f"it has {', '.join(known)}")
        named = {key: tuple(value) if isinstance(value, list) else value for key, value in parameters.items()}
        positional: tuple[Any, ...] = ()
    else:
        many = isinstance(parameters, Sequence) and not isinstance(parameters, str)
        values: tuple[Any, ...] = tuple(parameters) if many else (parameters,)
        positional, named = ((values,) if kind is Choice else values), {}
    try:
        made: Distribution = kind(*positional, **named)
    except TypeError:
        raise BadArgument(f"'{written}' does not fit {name}", f"it has {', '.join(known)}, in this order") from None
    return made


_LEAST_SHARE = 1e-3


def _check_bounds(low: float, high: float) -> None:
    finite("low", low)
    finite("high", high)
    if low > high:
        raise BadArgument(f"low '{low}' is above high '{high}'", "give the smaller one first")


def _check_likely(it: Distribution, mean: float, deviation: float, low: float | None, high: float | None) -> None:
    """Refuse bounds that almost no draw meets: redrawing would take forever."""
    bottom = -math.inf if low is None else finite("low", low)
    top = math.inf if high is None else finite("high", high)
    if bottom > top:
        raise BadArgument(f"low '{low}' is above high '{high}'", "give the smaller one first")
    if deviation == 0:
        share = float(bottom <= mean <= top)
    else:
        ends = [math.erf((end - mean) / (deviation * math.sqrt(2))) for end in (bottom, top)]
        share = (ends[1] - ends[0]) / 2
    if share < _LEAST_SHARE:
        raise BadArgument(f"almost no value is within the bounds of {it}", "widen the bounds or move the middle")


def _draw_within(draw: Any, count: int, low: float | None, high: float | None) -> Floats:
    """Return the first `count` values of `draw` within the bounds, in order."""
    if low is None and high is None:
        return np.asarray(draw(count))
    bottom, top = (-math.inf if low is None else low), (math.inf if high is None else high)
    kept: list[Floats] = []
    missing = count
    while missing > 0:
        values = draw(missing)
        fitting = values[(values >= bottom) & (values <= top)]
        kept.append(fitting)
        missing -= len(fitting)
    return np.concatenate(kept) if kept else np.empty(0)
