"""Estimates with confidence intervals, and summaries of many runs.

Quantiles are interpolated between the two nearest outcomes (type 7 of Hyndman and Fan, the default of NumPy, pandas, R
and DuckDB's `quantile_cont`). Intervals are percentile bootstraps. The caller provides the random generator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError

QUANTILES = {"p5": 0.05, "p50": 0.50, "p95": 0.95}
AT_RISK = 0.95
"""Level of value at risk and liquidations at risk: 95 % of the runs stay below."""

_DRAWS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated value with its confidence interval."""

    value: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        """The estimate as plain data."""
        return {"value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary of one figure over many runs. `minimum` and `maximum` are outcomes; the others are estimates."""

    count: int
    minimum: float
    maximum: float
    mean: Estimate
    p5: Estimate
    p50: Estimate
    p95: Estimate

    @property
    def at_risk(self) -> Estimate:
        """95 % quantile: VaR if the figure is bad debt, LaR if it is liquidated value."""
        return self.p95

    def to_json(self) -> dict[str, object]:
        """The summary as plain data."""
        estimates = {name: getattr(self, name).to_json() for name in ("mean", *QUANTILES)}
        return {"count": self.count, "minimum": self.minimum, "maximum": self.maximum, **estimates}


def summarise(
    values: Iterable[float], rng: np.random.Generator, *, resamples: int = 2_000, confidence: float = 0.95
) -> Summary:
    """Estimate mean and quantiles of `values`.

    The result depends on the values and the state of `rng`, not on the order of the values.
    """
    sample = np.sort(outcomes(values))
    if resamples < 1:
        raise UsageError(
            f"{resamples} resamples are too few", "a bootstrap takes one at least, usually a thousand or more"
        )
    if not 0 < confidence < 1:
        raise UsageError(f"a confidence of {confidence} is none", "it lies between 0 and 1: 0.95")
    shares = list(QUANTILES.values())
    drawn = _resampled(sample, shares, rng, resamples)
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    centre = [float(np.mean(sample)), *(float(each) for each in np.quantile(sample, shares))]
    estimates = [Estimate(*map(float, each)) for each in zip(centre, low, high, strict=True)]
    return Summary(len(sample), float(sample[0]), float(sample[-1]), *estimates)


def summarise_all(
    columns: Mapping[str, Iterable[float]], seed: int, *, resamples: int = 2_000, confidence: float = 0.95
) -> dict[str, Summary]:
    """Summarise each column with a random stream of its own: adding a column changes no other."""
    return {
        name: summarise(values, _stream(seed, name), resamples=resamples, confidence=confidence)
        for name, values in columns.items()
    }


def quantile(values: Iterable[float], share: float) -> float:
    """Quantile of the outcomes, interpolated between the two nearest."""
    if not 0 <= share <= 1:
        raise UsageError(f"there is no quantile {share}", "a quantile is a share between 0 and 1: 0.95")
    return float(np.quantile(outcomes(values), share))


def value_at_risk(values: Iterable[float], level: float = AT_RISK) -> float:
    """Value that a share `level` of the runs do not exceed: VaR of bad debt, LaR of liquidated value."""
    return quantile(values, level)


def outcomes(values: Iterable[float]) -> NDArray[np.float64]:
    """Convert to an array; `UsageError` if it is empty or has a value that is not finite."""
    sample = np.fromiter(values, dtype=np.float64)
    if not len(sample):
        raise UsageError("there is nothing to summarise", "a summary needs at least one finished run")
    if not np.isfinite(sample).all():
        raise UsageError(f"{sample[~np.isfinite(sample)][0]} is no outcome", "every figure of a run is a finite number")
    return sample


def _resampled(
    sample: NDArray[np.float64], shares: list[float], rng: np.random.Generator, resamples: int
) -> NDArray[np.float64]:
    """Compute mean and quantiles of each resample, in batches of bounded memory."""
    rows = max(1, _DRAWS_AT_ONCE // len(sample))
    parts = []
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        drawn = sample[rng.integers(len(sample), size=(count, len(sample)))]
        parts.append(np.column_stack([drawn.mean(axis=1), *np.quantile(drawn, shares, axis=1)]))
    return np.concatenate(parts)


def _stream(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng([seed, *name.encode()])
