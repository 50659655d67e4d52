"""Expected shortfall: the mean of the worst 5 % of the runs, with its confidence interval.

Rockafellar and Uryasev (2000) write it as the mean of q + max(x − q, 0) / 5 % over all runs, where q is the value at
risk. That mean hardly depends on the error of q, so it gets the interval of a mean. Where it has none, the lower
bound of the value at risk also serves as a lower bound here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from mayavi.statistics.estimate import CONFIDENCE, Estimate, outcomes
from mayavi.statistics.means import FEWEST_DIFFERENT, mean_of
from mayavi.statistics.quantiles import AT_RISK, lower_rank


def estimate_shortfall(values: Iterable[float], level: float = AT_RISK, confidence: float = CONFIDENCE) -> Estimate:
    """Mean of the worst runs, a share 1 − `level` of all, with its interval."""
    return shortfall_of_sorted(np.sort(outcomes(values)), level, confidence)


def shortfall_of_sorted(
    sample: NDArray[np.float64], level: float = AT_RISK, confidence: float = CONFIDENCE
) -> Estimate:
    """Estimate the expected shortfall from sorted outcomes."""
    count = len(sample)
    at_risk = sample[math.ceil(round(count * level, 9)) - 1]
    found = mean_of(at_risk + np.maximum(sample - at_risk, 0.0) / round(1 - level, 12), confidence)
    if found.complete:
        return found
    fewest = math.ceil(round(FEWEST_DIFFERENT / (1 - level), 9))
    needed = max(fewest, found.runs_needed or 0, count + 1)
    low = lower_rank(count, level, confidence)
    equal = sample[-1] == at_risk and count >= fewest  # more runs of this outcome would not tell how bad a worse one is
    return Estimate(found.value, None if low is None else float(sample[low - 1]), None, None if equal else needed)
