"""Figures of a side of a comparison against the baseline; rounding counts as equal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from mayavi.report.figure_formats import FigureFormat, figure_format
from mayavi.report.sources.sides import Side
from mayavi.scenarios.sensitivity.paired_difference import PairedDifference, paired_difference

BOOKKEEPING = ("actions", "failed", "raised", "transactions", "gas_used", "fees_wei")
SHARE_NOISE = 1e-8
"""Difference of shares that rounding makes: prices have eight decimals."""
VALUE_NOISE = 1e-9
"""The same for other figures, as a part of the larger one."""
EXACT_UNITS = ("count", "gas", "wei")
ROUNDING = "less than 0.000001 percentage points, or than a billionth of the value"


@dataclass(frozen=True, slots=True)
class KpiDifference:
    """A KPI of a side against the baseline, paired by seed where both have the seed."""

    name: str
    format: FigureFormat
    base: float | None
    other: float | None
    paired: PairedDifference | None

    @property
    def value(self) -> float | None:
        """The mean difference; None if one side lacks the KPI."""
        if self.paired is not None and self.paired.pairs:
            return self.paired.value
        return None if self.base is None or self.other is None else self.other - self.base

    @property
    def points(self) -> bool:
        """Whether the KPI is a share itself, so that a difference is in percentage points."""
        return self.format.is_share

    @property
    def bookkeeping(self) -> bool:
        """Whether the KPI counts work and not outcomes: actions, transactions, gas."""
        return self.name.partition(".")[0] in BOOKKEEPING

    @property
    def share(self) -> float | None:
        """The difference as a share of the baseline; None for KPIs that are shares themselves."""
        if self.points:
            return None
        return self.value / abs(self.base) if self.value is not None and self.base else None


def kpi_differences(base: Side, side: Side) -> list[KpiDifference]:
    """Compare every KPI of two sides; those that are equal up to rounding are left out."""
    return [each for each, real in _differences(base, side) if real]


def rounded_only(base: Side, side: Side) -> int:
    """Return the number of KPIs that differ, and by no more than rounding."""
    return sum(not real for _, real in _differences(base, side))


def _differences(base: Side, side: Side) -> Iterator[tuple[KpiDifference, bool]]:
    """Yield the KPIs that are not exactly equal, and whether that is more than rounding."""
    shared = sorted(set(base.runs) & set(side.runs))
    for name in [*base.kpis, *(each for each in side.kpis if each not in base.kpis)]:
        one, other = base.kpis.get(name, {}), side.kpis.get(name, {})
        both = [(one[seed], other[seed]) for seed in shared if seed in one and seed in other]
        both = [(was, now) for was, now in both if math.isfinite(now - was)]
        means = base.mean(name), side.mean(name)
        if means[0] == means[1] and all(was == now for was, now in both):
            continue
        unit = base.units.get(name) or side.units.get(name, "")
        shown = figure_format(name, unit, base.record.chain)
        paired = paired_difference([now - was for was, now in both]) if len(both) > 1 else None
        compared = [*both, means] if both or None not in means else [means]
        real = any(not _alike(was, now, shown, unit) for was, now in compared)
        yield KpiDifference(name, shown, *means, paired), real


def _alike(was: float | None, now: float | None, shown: FigureFormat, unit: str) -> bool:
    """Whether two values differ by no more than rounding. Counts are exact."""
    if was is None or now is None or unit in EXACT_UNITS:
        return was == now
    if not math.isfinite(now - was):
        return was == now or (math.isnan(was) and math.isnan(now))
    return abs(now - was) <= (SHARE_NOISE if shown.is_share else VALUE_NOISE * max(abs(was), abs(now)))
