"""Binomial, beta and Student t distributions, from the regularised incomplete beta function.

The package works without SciPy; `tests/statistics/test_distributions.py` compares with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

_MOST_TERMS = 100_000
_PRECISION = 1e-15


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function I_x(a, b): the share of a beta distribution below `x`."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):  # the continued fraction converges quickly below the mean only
        return 1.0 - incomplete_beta(b, a, 1.0 - x)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(front) / a / _continued_fraction(a, b, x)


def _continued_fraction(a: float, b: float, x: float) -> float:
    """Continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    found, c, d = 1.0, 1.0, 0.0
    for term in range(1, _MOST_TERMS):
        half = term // 2
        if term % 2:
            numerator = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            numerator = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        d = 1.0 / ((1.0 + numerator * d) or tiny)
        c = (1.0 + numerator / c) or tiny
        found *= c * d
        if abs(1.0 - c * d) < _PRECISION:
            break
    return found


def binomial_at_least(successes: int, trials: int, share: float) -> float:
    """Probability of at least `successes` in `trials` independent trials that each succeed with probability `share`."""
    if successes <= 0:
        return 1.0
    if successes > trials:
        return 0.0
    return incomplete_beta(successes, trials - successes + 1, share)


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Value below which a beta distribution has `probability`."""
    return _bisect(lambda x: incomplete_beta(a, b, x) < probability, 0.0, 1.0)


@lru_cache(maxsize=4096)
def student_t_quantile(probability: float, degrees: float) -> float:
    """Value below which Student's t distribution with `degrees` of freedom has `probability`, at least one half."""
    tail = 2 * (1.0 - probability)

    def below(t: float) -> bool:
        return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) > tail

    high = 1.0
    while below(high):
        high *= 2
    return _bisect(below, 0.0, high)


def _bisect(below: Callable[[float], bool], low: float, high: float) -> float:
    """Point between `low` and `high` at which `below` turns false."""
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if below(middle) else (low, middle)
    return (low + high) / 2
