"""What many runs say together: means and quantiles, each with the interval a bootstrap gives it.

A quantile is interpolated between the two nearest outcomes (Hyndman and Fan's seventh, which NumPy, pandas, R and
DuckDB's `quantile_cont` take by default). An interval is the percentile bootstrap: outcomes are drawn again with
replacement, and the middle of what comes out is the interval. Nothing here makes a random number of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError

QUANTILES = {"p5": 0.05, "p50": 0.50, "p95": 0.95}
AT_RISK = 0.95
"""VaR and LaR: what nineteen runs of twenty stay below."""

_DRAWS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure computed from a sample, and the interval that holds it with the confidence asked for."""

    value: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        """The estimate as plain data."""
        return {"value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Summary:
    """One figure of many runs. `minimum` and `maximum` are outcomes; the others are estimates."""

    count: int
    minimum: float
    maximum: float
    mean: Estimate
    p5: Estimate
    p50: Estimate
    p95: Estimate

    @property
    def at_risk(self) -> Estimate:
        """What 95 % of the runs do not exceed: VaR where the figure is bad debt, LaR where it is liquidated value."""
        return self.p95

    def to_json(self) -> dict[str, object]:
        """The summary as plain data."""
        estimates = {name: getattr(self, name).to_json() for name in ("mean", *QUANTILES)}
        return {"count": self.count, "minimum": self.minimum, "maximum": self.maximum, **estimates}


def summarise(
    values: Iterable[float], rng: np.random.Generator, *, resamples: int = 2_000, confidence: float = 0.95
) -> Summary:
    """The mean and the quantiles of `values` with their intervals.

    The same values and the same state of `rng` give the same summary; the order of the values does not matter.
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
    """`summarise` for each column, each with a random stream of its own name: adding a column changes no other."""
    return {
        name: summarise(values, _stream(seed, name), resamples=resamples, confidence=confidence)
        for name, values in columns.items()
    }


def quantile(values: Iterable[float], share: float) -> float:
    """The value below which `share` of the outcomes lie, interpolated between the two nearest."""
    if not 0 <= share <= 1:
        raise UsageError(f"there is no quantile {share}", "a quantile is a share between 0 and 1: 0.95")
    return float(np.quantile(outcomes(values), share))


def value_at_risk(values: Iterable[float], level: float = AT_RISK) -> float:
    """What a share `level` of the runs do not exceed: of bad debt it is VaR, of liquidated value LaR."""
    return quantile(values, level)


def outcomes(values: Iterable[float]) -> NDArray[np.float64]:
    """`values` as an array; none at all, or one that is no number, is refused."""
    sample = np.fromiter(values, dtype=np.float64)
    if not len(sample):
        raise UsageError("there is nothing to summarise", "a summary needs one finished run at least")
    if not np.isfinite(sample).all():
        raise UsageError(f"{sample[~np.isfinite(sample)][0]} is no outcome", "every figure of a run is a finite number")
    return sample


def _resampled(
    sample: NDArray[np.float64], shares: list[float], rng: np.random.Generator, resamples: int
) -> NDArray[np.float64]:
    """Mean and quantiles of each resample, in memory that does not grow with their number."""
    rows = max(1, _DRAWS_AT_ONCE // len(sample))
    parts = []
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        drawn = sample[rng.integers(len(sample), size=(count, len(sample)))]
        parts.append(np.column_stack([drawn.mean(axis=1), *np.quantile(drawn, shares, axis=1)]))
    return np.concatenate(parts)


def _stream(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng([seed, *name.encode()])
