"""Mean of paired differences with a Student t interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

FEWEST_PAIRS = 6
"""Below this number of pairs no interval is given."""
CONFIDENCE = 0.95

Verdict = Literal["effect", "no_effect", "not_distinguishable", "no_interval"]


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Mean difference over the same seeds, with its confidence interval where there is one."""

    value: float
    low: float | None
    high: float | None
    pairs: int
    verdict: Verdict
    """`no_effect`: every pair is equal. `not_distinguishable`: the interval includes 0."""
    pairs_needed: int | None = None
    """Number of pairs that would give an interval, where there is none."""

    def to_json(self) -> dict[str, object]:
        """The difference as plain data."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "pairs": self.pairs,
            "verdict": self.verdict,
            "pairs_needed": self.pairs_needed,
        }


def paired_difference(differences: Sequence[float], confidence: float = CONFIDENCE) -> PairedDifference:
    """Estimate the mean of `differences`, one for each seed."""
    count = len(differences)
    if not any(differences):
        return PairedDifference(0.0, 0.0 if count else None, 0.0 if count else None, count, "no_effect")
    mean = math.fsum(differences) / count
    if count < FEWEST_PAIRS:
        return PairedDifference(mean, None, None, count, "no_interval", FEWEST_PAIRS)
    variance = math.fsum((each - mean) ** 2 for each in differences) / (count - 1)
    reach = student_t_quantile((1 + confidence) / 2, count - 1) * math.sqrt(variance / count)
    low, high = mean - reach, mean + reach
    return PairedDifference(mean, low, high, count, "not_distinguishable" if low <= 0 <= high else "effect")


def student_t_quantile(probability: float, freedom: int) -> float:
    """Quantile of Student's t distribution for a `probability` of at least one half, by bisection."""
    low, high = 0.0, 1.0
    while student_t_cdf(high, freedom) < probability:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if student_t_cdf(middle, freedom) < probability else (low, middle)
    return high


def student_t_cdf(t: float, freedom: int) -> float:
    """Probability of a value up to `t` ≥ 0: the finite sums for whole degrees of freedom."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, term = math.cos(angle), 1.0
    odd = freedom % 2
    total = 0.0
    for k in range(freedom // 2):
        total += term
        term *= cosine * cosine * (2 * k + 1 + odd) / (2 * k + 2 + odd)
    sine = math.sin(angle)
    inside = 2 / math.pi * (angle + sine * cosine * total) if odd else sine * total
    return (1 + inside) / 2
