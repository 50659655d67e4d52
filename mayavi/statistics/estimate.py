"""An estimated value with its confidence interval, and the outcomes it is estimated from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import UsageError

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated value with its confidence interval.

    A bound that the sample does not support is None. `runs_needed` is the number of runs that would support both
    bounds, approximate for means; it is None if both are there, or if it cannot be estimated.
    """

    value: float
    low: float | None
    high: float | None
    runs_needed: int | None = None

    def to_json(self) -> dict[str, float | None]:
        """The estimate as plain data."""
        return {"value": self.value, "low": self.low, "high": self.high, "runs_needed": self.runs_needed}

    @property
    def complete(self) -> bool:
        """Whether the interval has both bounds."""
        return self.low is not None and self.high is not None

    def covers(self, value: float) -> bool:
        """Whether `value` lies in the interval; a missing bound excludes nothing."""
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval; None without both bounds."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def interval(self, show: Callable[[float], str]) -> str:
        """The interval in words: `$1 to $2`, `at least $1`, `at most $2` or `–`; `show` formats a number."""
        if self.low is None:
            return "–" if self.high is None else f"at most {show(self.high)}"
        return f"at least {show(self.low)}" if self.high is None else f"{show(self.low)} to {show(self.high)}"

    def missing(self, *, unit: str = "runs") -> str:
        """What is missing, and the runs needed: `59 runs are needed for an upper bound`; empty if complete."""
        if self.complete:
            return ""
        bound = "an interval" if self.low is self.high else "an upper bound" if self.high is None else "a lower bound"
        about = "about " if self.low is self.high else ""
        if self.runs_needed is None:
            return f"{unit} with other outcomes are needed for {bound}"
        return f"{about}{self.runs_needed:,} {unit} are needed for {bound}"


def check_confidence(confidence: float) -> float:
    """Return `confidence`; raise `UsageError` unless it lies between 0 and 1."""
    if not 0 < confidence < 1:
        raise UsageError(f"a confidence of {confidence} is not valid", "it lies between 0 and 1: 0.95")
    return confidence


def outcomes(values: Iterable[float]) -> NDArray[np.float64]:
    """Convert to an array; `UsageError` if it is empty or has a value that is not finite."""
    sample = np.fromiter(values, dtype=np.float64)
    if not len(sample):
        raise UsageError("there is nothing to summarise", "a summary needs at least one finished run")
    if not np.isfinite(sample).all():
        raise UsageError(
            f"{sample[~np.isfinite(sample)][0]} is not a finite outcome", "every figure of a run is a finite number"
        )
    return sample
