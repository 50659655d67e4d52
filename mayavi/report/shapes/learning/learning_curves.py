"""Learning curves of several seeds: a line for each, their median, and the band from the lowest to the highest."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from mayavi.report.charts.axes import Axis, Xs
from mayavi.report.charts.intervals import intervals
from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import short
from mayavi.report.page import Chart
from mayavi.report.sources.trainings import Curve

MOST_POINTS = 400


def learning_chart(curves: Sequence[Curve], what: str, detail: str, *, wide: bool = False) -> Chart | None:
    """Draw the curves over training steps; None without any."""
    if not curves:
        return None
    steps = common_steps(curves)
    if len(steps) == 1:
        return _one_step(curves, steps[0], what, detail, wide=wide)
    if len(curves) == 1:
        (only,) = curves
        return lines(
            _finding([only.values[step] for step in steps], what),
            f"{detail}; seed {only.seed}",
            Xs(steps, "training steps", "count"),
            [Line(f"seed {only.seed}", [only.values[step] for step in steps], markers=len(steps) <= 40)],
            Axis(what, "number"),
            wide=wide,
        )
    each = [[curve.values[step] for curve in curves] for step in steps]
    middle = [median(values) for values in each]
    return lines(
        _finding(middle, f"median {what}"),
        f"{detail}; {len(curves):,} seeds: the median, and a band from the lowest to the highest",
        Xs(steps, "training steps", "count"),
        [Line("median", middle, low=[min(v) for v in each], high=[max(v) for v in each], markers=len(steps) <= 40)],
        Axis(what, "number"),
        wide=wide,
    )


def _one_step(curves: Sequence[Curve], step: int, what: str, detail: str, *, wide: bool) -> Chart:
    """Draw a dot for each seed, and their median with the range, where there is one point in time."""
    values = [curve.values[step] for curve in curves]
    rows: list[tuple[str, float | None, float | None, float | None]] = []
    head = f"{what.capitalize()} after {step:,} steps"
    title = f"{head}: {short(values[0])}, seed {curves[0].seed}"
    if len(curves) > 1:
        low, high, middle = min(values), max(values), median(values)
        rows.append((f"median of {len(curves):,} seeds", middle, low, high))
        title = f"{head}: median {short(middle)} of {len(curves):,} seeds, from {short(low)} to {short(high)}"
    rows += [(f"seed {curve.seed}", curve.values[step], None, None) for curve in curves]
    known = "; the median with the range of the seeds, and each seed" if len(curves) > 1 else ""
    return intervals(title, f"{detail}, once, after {step:,} steps{known}", rows, Axis(what, "number"), wide=wide)


def seeds_chart(curves: Sequence[Curve], what: str, detail: str) -> Chart | None:
    """Draw a line for each seed, at most five: the lowest, the highest, and those between; None for fewer than two.

    With one common step there are no lines either: `learning_chart` shows every seed then.
    """
    if len(curves) < 2:
        return None
    steps = common_steps(curves)
    if len(steps) < 2:
        return None
    last = steps[-1]
    ranked = sorted(curves, key=lambda curve: -curve.values[last])
    kept = ranked if len(ranked) <= 5 else [ranked[round(at * (len(ranked) - 1) / 4)] for at in range(5)]
    best, worst = ranked[0], ranked[-1]
    return lines(
        f"Seed {best.seed} ends highest with {short(best.values[last])}, seed {worst.seed} lowest with "
        f"{short(worst.values[last])}",
        f"{detail}; {len(kept)} of {len(curves):,} seeds",
        Xs(steps, "training steps", "count"),
        [Line(f"seed {curve.seed}", [curve.values[step] for step in steps]) for curve in kept],
        Axis(what, "number"),
    )


def common_steps(curves: Sequence[Curve]) -> list[int]:
    """Steps that every curve has, thinned to at most 400; those of the shortest if they share none."""
    shared = set(curves[0].values).intersection(*(curve.values for curve in curves[1:]))
    if not shared:
        shortest = min(curves, key=lambda curve: len(curve.values))
        shared = {step for step in shortest.values if all(step in curve.values for curve in curves)} or set()
    steps = sorted(shared)
    if len(steps) <= MOST_POINTS:
        return steps
    last = len(steps) - 1
    return [steps[round(at * last / (MOST_POINTS - 1))] for at in range(MOST_POINTS)]


def _finding(values: Sequence[float], what: str) -> str:
    if len(values) < 2:
        return f"{what.capitalize()}: {short(values[0]) if values else 'no value'}"
    best = max(values)
    start, end = short(values[0]), short(values[-1])
    if start == end:
        return f"{what.capitalize()} ends where it starts, at {end}"
    moves = "rises" if values[-1] > values[0] else "falls"
    peak = "" if short(best) in {start, end} else f", after a best of {short(best)}"
    return f"{what.capitalize()} {moves} from {start} to {end}{peak}"
