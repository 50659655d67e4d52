"""Cells of the tables: how often an interval covered the truth."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mayavi.statistics.estimate import Estimate


@dataclass(frozen=True)
class Coverage:
    """Result of a cell."""

    covered: float
    """Share of the shown intervals that held the truth; NaN if none was shown."""
    shown: float
    """Share of the experiments with a bound on at least one side."""
    complete: float
    """Share of the experiments with both bounds."""
    number: int
    """Number of shown intervals."""


def coverage(estimates: list[Estimate], truth: float) -> Coverage:
    """Count how many of the shown intervals hold the truth, up to rounding."""
    shown = [each for each in estimates if each.low is not None or each.high is not None]
    near = 1e-12 * max(1.0, abs(truth))
    held = sum(each.covers(truth) or each.covers(truth - near) or each.covers(truth + near) for each in shown)
    covered = held / len(shown) if shown else math.nan
    both = sum(each.complete for each in estimates) / len(estimates)
    return Coverage(covered, len(shown) / len(estimates), both, len(shown))


def shown(cell: Coverage) -> str:
    """Format a cell: coverage in percent, `one side` or the share of shown intervals if not all are complete."""
    if math.isnan(cell.covered):
        return "–"
    text = f"{cell.covered * 100:.1f}"
    if not cell.complete:
        return f"{text} (one side)"
    if cell.complete < 0.995:
        return f"{text} ({cell.complete * 100:.0f} % {'of samples' if cell.shown == cell.complete else 'two-sided'})"
    return text


def row(*cells: str) -> str:
    """Line of a table."""
    return f"| {' | '.join(cells)} |"
