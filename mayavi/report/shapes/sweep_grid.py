"""Heat maps of a sweep over the parameters that vary, chosen by their effect."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

from mayavi.report.charts.axes import Axis
from mayavi.report.charts.heat_map import heat_map
from mayavi.report.charts.intervals import intervals
from mayavi.report.figure_formats import FigureFormat, worst_is_low
from mayavi.report.page import Chart
from mayavi.report.shapes.sweep_risk import at_risk, at_risk_name, format_in
from mayavi.report.sources.sweep import SweepData, SweepPoint
from mayavi.scenarios.sweep.result import BAD_DEBT, LIQUIDATED

Value = Callable[[SweepPoint], float]
MOST_ROWS = 40
"""Points of a one-dimensional grid that are drawn; more stay in the table."""


def grid_charts(data: SweepData) -> list[Chart]:
    """Charts over the grid, the headline first; empty without a grid."""
    if not data.axes or data.headline is None:
        return []
    found = []
    for title, shown, value, name in _figures(data):
        points = [point for point in data.with_runs if name in point.summary.figures]
        if len(points) < 2:
            continue
        if len(data.axes) == 1:
            found.append(_along(data, title, shown, points, name))
        else:
            found.append(_map(data, title, shown, value, points, name))
    return found


def _figures(data: SweepData) -> list[tuple[str, FigureFormat, Value, str]]:
    name = data.headline or ""
    shown = format_in(data, name)
    found: list[tuple[str, FigureFormat, Value, str]] = [
        (f"{at_risk_name(name)} of {shown.title}", shown, lambda point: at_risk(point, name).value, name),
        (f"mean {shown.title}", shown, lambda point: point.summary.figures[name].mean.value, name),
    ]
    if name == BAD_DEBT:
        share = FigureFormat("probability_of_loss", "percent")
        chance: Value = lambda point: point.summary.figures[BAD_DEBT].probability_above_zero.value  # noqa: E731
        found.insert(1, ("probability of a loss", share, chance, name))
        if any(LIQUIDATED in point.summary.figures for point in data.with_runs):
            other = format_in(data, LIQUIDATED)
            at: Value = lambda point: at_risk(point, LIQUIDATED).value  # noqa: E731
            found.append((f"LaR: {other.title} value", other, at, LIQUIDATED))
    return found


def ranked_axes(data: SweepData, value: Value, points: list[SweepPoint]) -> list[str]:
    """Parameters by the spread of the mean of `value` over their values, the most influential first."""

    def effect(path: str) -> float:
        means = [
            fmean(found) for each in data.axes[path] if (found := [value(p) for p in points if _at(p, path) == each])
        ]
        return max(means) - min(means) if means else 0.0

    return sorted(data.axes, key=lambda path: (-effect(path), list(data.axes).index(path)))


def _map(data: SweepData, title: str, shown: FigureFormat, value: Value, points: list[SweepPoint], name: str) -> Chart:
    up, across, *others = ranked_axes(data, value, points)
    worst = min if worst_is_low(name) else max
    cells: list[list[float | None]] = []
    for row in data.axes[up]:
        line: list[float | None] = []
        for column in data.axes[across]:
            found = [value(p) for p in points if _at(p, up) == row and _at(p, across) == column]
            line.append(shown.value(worst(found)) if found else None)
        cells.append(line)
    count = min(each.summary.figures[name].count for each in points)
    subtitle = f"{title}; at least {count:,} runs a cell"
    if others:
        subtitle += f"; the worst over {', '.join(others)}"
    return heat_map(
        _finding(data, title, shown, value, points, up),
        subtitle,
        (across, data.axes[across]),
        (up, data.axes[up]),
        cells,
        Axis(title, shown.format),
        source=f"sweep {data.record.sweep_id}",
    )


def _finding(data: SweepData, title: str, shown: FigureFormat, value: Value, points: list[SweepPoint], up: str) -> str:
    """State how far the most influential parameter moves the figure."""
    ends = [data.axes[up][0], data.axes[up][-1]]
    means = [fmean([value(p) for p in points if _at(p, up) == each] or [0.0]) for each in ends]
    first, last = (shown.write(each) for each in means)
    capital = title[:1].upper() + title[1:]
    if first == last:
        return f"{capital} hardly depends on the parameters: {first}"
    moves = "rises" if means[1] > means[0] else "falls"
    return f"{capital} {moves} from {first} to {last} as {up} goes from {ends[0]} to {ends[1]}"


def _along(data: SweepData, title: str, shown: FigureFormat, points: list[SweepPoint], name: str) -> Chart:
    (path,) = data.axes
    by_title = {
        "probability of a loss": lambda point: point.summary.figures[name].probability_above_zero,
        f"mean {shown.title}": lambda point: point.summary.figures[name].mean,
    }
    estimate = by_title.get(title, lambda point: at_risk(point, name))
    rows = []
    for point in points[:MOST_ROWS]:
        found = estimate(point)
        label = _at(point, path)
        rows.append((label, *(shown.value(each) for each in (found.value, found.low, found.high))))
    value: Value = lambda point: estimate(point).value  # noqa: E731
    count = min(each.summary.figures[name].count for each in points)
    lacking = (
        ""
        if all(estimate(point).complete for point in points)
        else "; a missing whisker is a bound that so few runs do not support"
    )
    return intervals(
        _finding(data, title, shown, value, points, path),
        f"{title} by {path}, with 95 % intervals; at least {count:,} runs a point{lacking}",
        rows,
        Axis(title, shown.format),
        source=f"sweep {data.record.sweep_id}",
    )


def _at(point: SweepPoint, path: str) -> str:
    """The value of a parameter at a point; empty if the point does not set it."""
    for override in point.overrides:
        key, _, value = override.partition("=")
        if key.strip() == path:
            return value.strip()
    return ""
