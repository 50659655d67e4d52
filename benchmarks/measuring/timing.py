"""Interleaved timing: compared operations run in the same rounds, so a busy machine slows all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mayavi.statistics.quantiles import estimate_quantile


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of one operation per round."""

    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median round."""
        return statistics.median(self.rounds)

    @property
    def median_interval(self) -> tuple[float, float] | None:
        """Exact 95 % interval of the median: two of the rounds; None with fewer than six."""
        found = estimate_quantile(self.rounds, 0.5)
        return None if found.low is None or found.high is None else (found.low, found.high)

    @property
    def fastest(self) -> float:
        """Fastest round."""
        return min(self.rounds)

    @property
    def spread(self) -> float:
        """How much slower the slowest round was than the fastest, as a fraction."""
        return max(self.rounds) / min(self.rounds) - 1

    def ratio(self, other: Timing) -> float:
        """Return the median ratio to `other`, round by round."""
        return statistics.median(a / b for a, b in zip(self.rounds, other.rounds, strict=True))

    def more(self, other: Timing) -> float:
        """Return the median difference from `other` in seconds, round by round."""
        return statistics.median(a - b for a, b in zip(self.rounds, other.rounds, strict=True))


def in_turns(contestants: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, Timing]:
    """Run `rounds` rounds in which each contestant measures itself once, in alternating order.

    A contestant returns the seconds of one operation.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    for turn in range(rounds):
        for name in names if turn % 2 == 0 else reversed(names):
            seconds[name].append(contestants[name]())
    return {name: Timing(tuple(each)) for name, each in seconds.items()}


def seconds_each(operation: Callable[[], object], count: int) -> float:
    """Return the seconds of one `operation`, from `count` in a row after a short warm-up."""
    for _ in range(max(1, count // 10)):
        operation()
    began = time.perf_counter()
    for _ in range(count):
        operation()
    return (time.perf_counter() - began) / count


def count_for(operation: Callable[[], object], round_seconds: float) -> int:
    """Return how many operations fill a round of `round_seconds`."""
    once = min(seconds_each(operation, 1) for _ in range(3))
    return max(1, round(round_seconds / once))
