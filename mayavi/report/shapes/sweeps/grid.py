"""Heat maps of a sweep over the parameters that vary, chosen by their effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

from mayavi.report.charts.axes import Axis
from mayavi.report.charts.heat_map import heat_map
from mayavi.report.charts.intervals import intervals
from mayavi.report.figure_formats import FigureFormat, worst_is_low
from mayavi.report.page import Chart
from mayavi.report.shapes.sweeps.risk import at_risk, at_risk_name, format_in
from mayavi.report.sources.parameter_names import parameter_name, value_name
from mayavi.report.sources.sweep import SweepData, SweepPoint
from mayavi.scenarios.sweep.result import BAD_DEBT, LIQUIDATED
from mayavi.statistics.estimate import Estimate

MOST_ROWS = 40
"""Points of a one-dimensional grid that are drawn; more stay in the table."""


@dataclass(frozen=True, slots=True)
class GridFigure:
    """An estimate that is drawn over the grid."""

    title: str
    name: str
    """The KPI it is an estimate of."""
    format: FigureFormat
    estimate: Callable[[SweepPoint], Estimate]

    def value(self, point: SweepPoint) -> float:
        """The estimated value at a point."""
        return self.estimate(point).value


def grid_charts(data: SweepData) -> list[Chart]:
    """Charts over the grid, the headline first; empty without a grid."""
    found = []
    for figure in grid_figures(data) if data.axes else ():
        points = [point for point in data.with_runs if figure.name in point.summary.figures]
        if len(points) > 1:
            found.append((_along if len(data.axes) == 1 else _map)(data, figure, points))
    return found


def grid_figures(data: SweepData) -> list[GridFigure]:
    """What is drawn over the grid: the tail of the headline KPI first."""
    name = data.headline
    if name is None:
        return []
    shown = format_in(data, name)
    found = [
        GridFigure(f"{at_risk_name(name)} of {shown.title}", name, shown, lambda point: at_risk(point, name)),
        GridFigure(f"mean {shown.title}", name, shown, lambda point: point.summary.figures[name].mean),
    ]
    if name == BAD_DEBT:
        share = FigureFormat("probability_of_loss", "percent")
        figure = GridFigure(
            "probability of a loss", name, share, lambda point: point.summary.figures[name].probability_above_zero
        )
        found.insert(1, figure)
        if any(LIQUIDATED in point.summary.figures for point in data.with_runs):
            other = format_in(data, LIQUIDATED)
            found.append(
                GridFigure(
                    f"{at_risk_name(LIQUIDATED)} of liquidated value",
                    LIQUIDATED,
                    other,
                    lambda point: at_risk(point, LIQUIDATED),
                )
            )
    return found


def ranked_axes(data: SweepData, figure: GridFigure, points: list[SweepPoint]) -> list[str]:
    """Parameters by the spread of the figure's mean over their values, the most influential first."""

    def effect(path: str) -> float:
        groups = [[figure.value(p) for p in points if p.value_of(path) == each] for each in data.axes[path]]
        means = [fmean(group) for group in groups if group]
        return max(means) - min(means) if means else 0.0

    return sorted(data.axes, key=lambda path: (-effect(path), list(data.axes).index(path)))


def _map(data: SweepData, figure: GridFigure, points: list[SweepPoint]) -> Chart:
    up, across, *others = ranked_axes(data, figure, points)
    worst = min if worst_is_low(figure.name) else max
    cells: list[list[float | None]] = []
    for row in data.axes[up]:
        line: list[float | None] = []
        for column in data.axes[across]:
            found = [figure.value(p) for p in points if p.value_of(up) == row and p.value_of(across) == column]
            line.append(figure.format.value(worst(found)) if found else None)
        cells.append(line)
    count = min(each.summary.figures[figure.name].count for each in points)
    subtitle = f"{_capital(figure.title)}; at least {count:,} runs a cell"
    if others:
        subtitle += f"; the worst over {', '.join(map(parameter_name, others))}"
    return heat_map(
        _finding(data, figure, points, sum(each is not None for line in cells for each in line)),
        subtitle,
        (parameter_name(across), [value_name(each) for each in data.axes[across]]),
        (parameter_name(up), [value_name(each) for each in data.axes[up]]),
        cells,
        Axis(figure.title, figure.format.format),
        source=f"sweep {data.record.sweep_id}",
    )


def _finding(data: SweepData, figure: GridFigure, points: list[SweepPoint], cells: int) -> str:
    """Quote the worst and the best value that the chart shows, and where the worst is."""
    low = worst_is_low(figure.name)
    ranked = sorted(points, key=figure.value, reverse=not low)
    worst, best = ranked[0], ranked[-1]
    last, first = (figure.format.write(figure.value(each)) for each in (worst, best))
    if first == last:
        return f"{_capital(figure.title)} is {first} everywhere"
    same = [each for each in points if figure.format.write(figure.value(each)) == last]
    where = data.name_of(worst) if len(same) == 1 else f"{len(same):,} of {len(points):,} combinations"
    extreme, other = ("lowest", "highest") if low else ("highest", "lowest")
    place = "at" if len(same) == 1 else "in"
    ends = f"; the {other} is {first}" if cells == len(points) else ""
    return f"{_capital(figure.title)} is {extreme} {place} {where}: {last}{ends}"


def _along(data: SweepData, figure: GridFigure, points: list[SweepPoint]) -> Chart:
    (path,) = data.axes
    shown = points[:MOST_ROWS]
    rows = [(data.values_of(point), *figure.format.bounds(figure.estimate(point))) for point in shown]
    count = min(each.summary.figures[figure.name].count for each in points)
    complete = all(figure.estimate(point).complete for point in points)
    lacking = "" if complete else "; a missing whisker is a bound that so few runs do not support"
    return intervals(
        _finding(data, figure, shown, len(shown)),
        f"{_capital(figure.title)} by {parameter_name(path)}, with 95 % intervals; at least {count:,} runs a point"
        f"{lacking}",
        rows,
        Axis(figure.title, figure.format.format),
        source=f"sweep {data.record.sweep_id}",
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
