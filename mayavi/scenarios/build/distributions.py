"""Distributions to draw from, as a scenario describes them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from mayavi.scenarios.models.values.distributions import (
    Choice,
    Constant,
    Distribution,
    LogNormal,
    Normal,
    Pareto,
    Uniform,
)
from mayavi.scenarios.models.values.quantities import ratio_of


def distribution(model: Distribution, scale: Decimal = Decimal(1)) -> Any:
    """Return the distribution that `model` describes, with all values multiplied by `scale`."""
    from mayavi.markets import distributions as d

    def scaled(value: Decimal | None) -> float | None:
        return None if value is None else float(value * scale)

    def bounds(between: Sequence[Decimal] | None) -> dict[str, float | None]:
        return {} if between is None else {"low": scaled(between[0]), "high": scaled(between[1])}

    if isinstance(model, Constant):
        return d.Constant(float(model.constant * scale))
    if isinstance(model, Uniform):
        return d.Uniform(float(model.uniform[0] * scale), float(model.uniform[1] * scale))
    if isinstance(model, Normal):
        normal = model.normal
        return d.Normal(float(normal.mean * scale), float(normal.deviation * scale), **bounds(normal.between))
    if isinstance(model, LogNormal):
        spread = model.lognormal
        return d.LogNormal(float(spread.median * scale), float(spread.sigma), **bounds(spread.between))
    if isinstance(model, Pareto):
        law = model.pareto
        return d.Pareto(float(law.minimum * scale), float(law.shape), scaled(law.maximum))
    assert isinstance(model, Choice)
    if isinstance(model.choice, dict):
        options = tuple(float(ratio_of(key) * scale) for key in model.choice)
        return d.Choice(options, tuple(float(weight) for weight in model.choice.values()))
    return d.Choice(tuple(float(value * scale) for value in model.choice))
