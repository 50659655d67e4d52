"""Precision target of a sweep: `VaR ±10%`, `mean(bad_debt) ±5%`.

A sweep with a target adds seeds until half the width of an interval is at most that share of its value. Checking an
interval repeatedly, and stopping when it is short, lowers its coverage. So every interval of such a sweep is computed
at 97 % and stated as 95 %, which is its coverage at the stop: docs/concepts/intervals.md has the measurements.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mayavi.errors import UnknownKey, UsageError
from mayavi.statistics.estimate import Estimate
from mayavi.statistics.means import rounded_up
from mayavi.statistics.summary import QUANTILES, Summary

MOST_RUNS = 10_000
"""Default budget: largest number of seeds."""
FIRST_SEEDS = 100
"""Number of seeds that a sweep with a target starts with by default."""
CONFIDENCE_AT_LOOKS = 0.97
_LEAST_GROWTH, _MOST_GROWTH = 1.25, 2.0

_SHORT = {"VaR": ("p95", "bad_debt"), "LaR": ("p95", "liquidated"), "ES": ("expected_shortfall", "bad_debt")}
_STATISTICS = {"mean": "mean", **{name: name for name in QUANTILES}, "ES": "expected_shortfall"}
_FORM = re.compile(r"(?P<what>\w+)\s*(\((?P<figure>[^()]+)\))?\s*(±|\+/?-)\s*(?P<percent>\d+(\.\d+)?)\s*%")
_HOW = 'write "VaR ±10%", "LaR ±10%", "ES ±20%", "mean(bad_debt) ±5%" or "p95(liquidated) ±10%"; +- may replace ±'


@dataclass(frozen=True, slots=True)
class Target:
    """Statistic of a figure, and the wanted relative half width of its interval."""

    label: str
    statistic: str
    figure: str
    tolerance: float
    """Half the width of the interval over the value: 0.1 for ±10 %."""

    def __str__(self) -> str:
        return f"{self.label} ±{self.tolerance * 100:g} %"

    def estimate(self, figures: Mapping[str, Summary]) -> Estimate:
        """Return the estimate of the target's statistic."""
        if self.figure not in figures:
            known = f"`--json` lists the figures of a scenario, such as {', '.join(list(figures)[:3])}"
            raise UnknownKey.of("figure", self.figure, figures, known)
        found: Estimate = getattr(figures[self.figure], self.statistic)
        return found


@dataclass(frozen=True, slots=True)
class TargetStatus:
    """Precision of the target's estimate after some runs, at the worst point of the grid."""

    target: Target
    runs: int
    """Number of seeds."""
    most: int
    estimate: Estimate
    relative: float | None
    """Half the width of the interval over the value; None without both bounds, or if the value is zero."""
    constant: bool
    """Whether every run gave the same value."""

    @property
    def reached(self) -> bool:
        """Whether the interval is short enough."""
        return self.relative is not None and self.relative <= self.target.tolerance

    @property
    def hopeless(self) -> bool:
        """Whether many runs gave one value: their mean never gets an interval."""
        return self.constant and self.runs >= FIRST_SEEDS and not self.estimate.complete

    @property
    def runs_needed(self) -> int | None:
        """Estimated number of seeds that reach the target; None if it cannot be estimated."""
        if self.reached:
            return self.runs
        if self.relative is not None:
            return rounded_up(max(self.runs + 1, self.runs * (self.relative / self.target.tolerance) ** 2))
        return None if self.estimate.complete else self.estimate.runs_needed

    def next_runs(self) -> int:
        """Number of seeds at the next check: a quarter more to twice as many, at most the budget."""
        wanted = self.runs_needed or math.inf
        grown = max(self.runs * _LEAST_GROWTH, min(self.runs * _MOST_GROWTH, wanted))
        return min(self.most, math.ceil(grown))

    def to_json(self) -> dict[str, Any]:
        """Return the status as JSON data."""
        return {
            "target": str(self.target),
            "figure": self.target.figure,
            "statistic": self.target.statistic,
            "tolerance": self.target.tolerance,
            "reached": self.reached,
            "relative_half_width": self.relative,
            "runs": self.runs,
            "most": self.most,
            "runs_needed": self.runs_needed,
            "confidence_at_looks": CONFIDENCE_AT_LOOKS,
        }


def parse_target(text: str) -> Target:
    """Parse a target: `VaR ±10%`, `mean(bad_debt) +-5%`, `p95(liquidated) ±10 %`."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"'{text}' is not a valid target of a sweep", _HOW)
    names = {name.lower(): name for name in (*_SHORT, *_STATISTICS)}
    what, figure = names.get(found["what"].lower(), ""), (found["figure"] or "").strip()
    if figure and what in _STATISTICS:
        label, statistic = f"{what}({figure})", _STATISTICS[what]
    elif not figure and what in _SHORT:
        label, (statistic, figure) = what, _SHORT[what]
    else:
        raise UsageError(f"'{text}' is not a valid target of a sweep", _HOW)
    tolerance = float(found["percent"]) / 100
    if not 0 < tolerance < 1:
        raise UsageError(f"±{found['percent']} % is not a valid precision", "give more than 0 % and less than 100 %")
    return Target(label, statistic, figure, tolerance)


def check_most(most: int, start: int) -> int:
    """Return the budget `most`; raise `UsageError` if it is smaller than the number of starting seeds."""
    if most < start:
        raise UsageError(
            f"--most {most} is less than the {start:,} {'seed' if start == 1 else 'seeds'} to start with",
            "--most is the largest number of seeds: raise it, or start with fewer --seeds",
        )
    return most


def status_of(target: Target, points: Sequence[Mapping[str, Summary]], runs: int, most: int) -> TargetStatus:
    """Look at the target at every point of the grid after `runs` seeds, and return the status of the worst."""
    found = []
    for figures in points:
        estimate, summary = target.estimate(figures), figures[target.figure]
        constant = summary.minimum == summary.maximum
        found.append(TargetStatus(target, runs, most, estimate, relative_width(estimate), constant))
    return max(found, key=lambda each: math.inf if each.relative is None else each.relative)


def relative_width(estimate: Estimate) -> float | None:
    """Half the width of the interval over the value; None without an interval, or if the value is zero."""
    if estimate.half_width is None:
        return None
    if not estimate.half_width:
        return 0.0
    return estimate.half_width / abs(estimate.value) if estimate.value else None


def more_seeds(start: Sequence[int], count: int) -> tuple[int, ...]:
    """Return `count` seeds: those of `start`, then the integers after the largest of them."""
    after = max(start) + 1
    return (*start[:count], *range(after, after + count - len(start)))
