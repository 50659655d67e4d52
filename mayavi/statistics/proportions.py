"""Shares of runs with exact confidence intervals, after Clopper and Pearson (1934)."""

from __future__ import annotations

import math
from functools import lru_cache

from mayavi.errors import UsageError
from mayavi.statistics.distributions import beta_quantile
from mayavi.statistics.estimate import CONFIDENCE, Estimate, check_confidence


@lru_cache(maxsize=4096)
def estimate_share(successes: float, count: int, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate the probability of an event that occurred in `successes` of `count` runs.

    A tie counts as half a success. Half successes are rounded outwards, which never shortens the interval.
    """
    if count < 1 or not 0 <= successes <= count:
        raise UsageError(
            f"{successes} of {count} runs is not a valid share", "give at least one run, and 0 to all of them"
        )
    tail = (1 - check_confidence(confidence)) / 2
    fewest, most = math.floor(successes), math.ceil(successes)
    low = beta_quantile(tail, fewest, count - fewest + 1) if fewest else 0.0
    high = beta_quantile(1 - tail, most + 1, count - most) if most < count else 1.0
    return Estimate(successes / count, low, high)
