"""Which values of a grid are worst beyond chance: points compared with the worst one by paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mayavi.report.figure_formats import figure_format, worst_is_low
from mayavi.report.sources.parameter_names import parameter_name, value_name
from mayavi.report.sources.sweep import SweepData, SweepPoint
from mayavi.scenarios.sensitivity.paired_difference import CONFIDENCE, paired_difference


def worst_points(data: SweepData, name: str, worst: SweepPoint) -> list[SweepPoint]:
    """Return the worst point and the points that do not differ from it significantly on shared seeds.

    The intervals hold for all comparisons together (Bonferroni).
    """
    others = [point for point in data.with_runs if point is not worst and name in point.kpis]
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(others))
    own = _by_seed(worst, name)
    found = [worst]
    for point in others:
        pairs = [own[seed] - number for seed, number in _by_seed(point, name).items() if seed in own]
        difference = paired_difference(pairs, confidence)
        worse = difference.value < 0 if worst_is_low(name) else difference.value > 0
        if difference.verdict != "effect" or not worse:
            found.append(point)
    return found


def worst_words(data: SweepData, name: str, worst: SweepPoint) -> str:
    """Say which values are worst, and which the seeds do not tell apart."""
    alike = worst_points(data, name, worst)
    if len(alike) == 1:
        return f"Worst: {data.name_of(worst)}."
    fixed: list[tuple[str, list[str]]] = []
    open_axes: list[tuple[str, list[str]]] = []
    for path in data.axes:
        values = list(dict.fromkeys(point.value_of(path) for point in alike))
        (fixed if len(values) == 1 else open_axes).append((path, values))
    if not fixed:
        return f"Worst: {data.name_of(worst)}, but not distinguishable from {_others(alike)}."
    sure = ", ".join(f"{parameter_name(path)} {value_name(values[0])}" for path, values in fixed)
    unsure = " and the ".join(f"{parameter_name(path)} ({_listed(values)})" for path, values in open_axes)
    return f"Worst: {sure}; the {unsure} makes no distinguishable difference there."


def how_told_apart(data: SweepData, name: str) -> str:
    """Say how points are compared with the worst one."""
    title = figure_format(name, data.with_runs[0].kpis[name].unit, data.chain).title
    others = len(data.with_runs) - 1
    intervals = (
        "its 95 % interval" if others == 1 else f"95 % intervals that hold for all {others:,} comparisons together"
    )
    return (
        f"Whether a point differs from the worst is judged by the paired difference of the mean {title} over the seeds "
        f"that both have, with {intervals}."
    )


def _others(alike: Sequence[SweepPoint]) -> str:
    count = len(alike) - 1
    return "1 other combination" if count == 1 else f"{count:,} other combinations"


def _listed(values: Sequence[str]) -> str:
    return ", ".join(map(value_name, values))


def _by_seed(point: SweepPoint, name: str) -> dict[int, float]:
    found = point.kpis[name]
    return {seed: number for seed, number in zip(found.seeds, found.numbers, strict=True) if math.isfinite(number)}
