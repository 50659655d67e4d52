"""Mean of paired differences, with an interval where one can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mayavi.statistics.means import estimate_mean

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
    found = estimate_mean(differences, confidence)
    if found.low is None or found.high is None:
        return PairedDifference(found.value, None, None, count, "no_interval", found.runs_needed)
    verdict: Verdict = "not_distinguishable" if found.covers(0.0) else "effect"
    return PairedDifference(found.value, found.low, found.high, count, verdict)
