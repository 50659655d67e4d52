"""Summary of one figure over many runs. It depends on the outcomes alone: no random number is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from mayavi.statistics.estimate import CONFIDENCE, Estimate, check_confidence, outcomes
from mayavi.statistics.means import mean_of
from mayavi.statistics.proportions import estimate_share
from mayavi.statistics.quantiles import AT_RISK, quantile_of_sorted
from mayavi.statistics.shortfall import shortfall_of_sorted

QUANTILES = {"p5": 0.05, "p50": 0.50, "p95": 0.95}
ESTIMATES = ("mean", *QUANTILES, "expected_shortfall", "probability_above_zero")


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
    expected_shortfall: Estimate
    """Mean of the largest 5 % of the outcomes."""
    probability_above_zero: Estimate

    @property
    def at_risk(self) -> Estimate:
        """95 % quantile: VaR if the figure is bad debt, LaR if it is liquidated value."""
        return self.p95

    def to_json(self) -> dict[str, object]:
        """The summary as plain data."""
        estimates = {name: getattr(self, name).to_json() for name in ESTIMATES}
        return {"count": self.count, "minimum": self.minimum, "maximum": self.maximum, **estimates}


def summarise(values: Iterable[float], *, confidence: float = CONFIDENCE) -> Summary:
    """Estimate mean, quantiles, expected shortfall and the probability of a value above zero.

    The result does not depend on the order of the values.
    """
    check_confidence(confidence)
    sample = np.sort(outcomes(values))
    return Summary(
        len(sample),
        float(sample[0]),
        float(sample[-1]),
        mean_of(sample, confidence),
        **{name: quantile_of_sorted(sample, share, confidence) for name, share in QUANTILES.items()},
        expected_shortfall=shortfall_of_sorted(sample, AT_RISK, confidence),
        probability_above_zero=estimate_share(int((sample > 0).sum()), len(sample), confidence),
    )


def summarise_all(columns: Mapping[str, Iterable[float]], *, confidence: float = CONFIDENCE) -> dict[str, Summary]:
    """Summarise each column."""
    return {name: summarise(values, confidence=confidence) for name, values in columns.items()}
