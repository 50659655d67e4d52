"""Cells of the tables: how often an interval covered the truth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mayavi.statistics.estimate import Estimate

Floats = NDArray[np.float64]


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


def coverage_of_bounds(low: Floats, high: Floats, truth: float | Floats) -> Coverage:
    """Count how many intervals hold the truth, up to rounding; a bound that is NaN is none."""
    near = 1e-12 * np.maximum(1.0, np.abs(truth))
    some = ~(np.isnan(low) & np.isnan(high))
    missed = (low > truth + near) | (high < truth - near)  # False where there is no bound
    number = int(some.sum())
    covered = float((some & ~missed).sum() / number) if number else math.nan
    return Coverage(covered, float(some.mean()), float((~np.isnan(low) & ~np.isnan(high)).mean()), number)


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
