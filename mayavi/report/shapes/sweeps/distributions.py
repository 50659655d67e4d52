"""How the outcomes of a sweep are distributed: dots or histogram, ECDF, ranges by point."""

from __future__ import annotations

from mayavi.report.charts.axes import Axis
from mayavi.report.charts.distributions import FEW, distribution, ecdf
from mayavi.report.charts.intervals import intervals
from mayavi.report.figure_formats import FigureFormat
from mayavi.report.page import Block, Chart, Section
from mayavi.report.shapes.sweeps.risk import at_risk, at_risk_name, extremes, format_in
from mayavi.report.sources.parameter_names import parameter_name
from mayavi.report.sources.sweep import SweepData, SweepPoint
from mayavi.scenarios.sweep.result import LIQUIDATED

MOST_POINTS = 40
"""Points of a grid that one chart compares; the table has all."""
_DRAWN = (LIQUIDATED, "liquidator_profit")


def headline_distribution(data: SweepData) -> Chart | None:
    """The distribution of the headline KPI at the worst point; None without runs."""
    return None if data.headline is None else outcome_chart(data, extremes(data)[0], data.headline)


def distribution_section(data: SweepData, hero: Chart | None) -> Section | None:
    """Distributions beside the one that the page starts with; of a grid the ranges by point."""
    name = data.headline
    if name is None:
        return None
    blocks: list[Block] = []
    if len(data.with_runs) > 1:
        blocks += [_by_point(data, name), outcome_chart(data, extremes(data)[0], name)]
    else:
        (point,) = data.with_runs
        for each in dict.fromkeys((name, *_DRAWN)):
            if each not in point.summary.figures:
                continue
            chart = outcome_chart(data, point, each)
            if hero is None or chart.title != hero.title:
                blocks.append(chart)
            if point.summary.figures[each].count >= FEW:
                blocks.append(_ecdf(data, point, each))
    return Section("distribution", "How the outcomes are distributed", tuple(blocks)) if blocks else None


def outcome_chart(data: SweepData, point: SweepPoint, name: str) -> Chart:
    """Draw the outcomes of one KPI: a dot a run below 200 runs, a histogram above."""
    shown, found = format_in(data, name), point.summary.figures[name]
    tail = at_risk(point, name)
    marks = [(shown.value(tail.value) or 0.0, f"{at_risk_name(name)} {shown.write(tail.value)}")]
    if found.count == 1:
        title = f"One run: {shown.title} is {shown.write(found.mean.value)}"
    elif found.minimum == found.maximum:
        title = f"Every run has the same {shown.title}: {shown.write(found.minimum)}"
    else:
        title = f"{shown.title.capitalize()} lies between {shown.write(found.minimum)} and {shown.write(found.maximum)}"
        title += f", half of the runs below {shown.write(found.p50.value)}"
    how = "a dot each" if found.count < FEW else "histogram"
    where = f" at {data.name_of(point)}" if data.axes else ""
    return distribution(
        title,
        f"{shown.title.capitalize()} of {found.count:,} runs{where}, {how}",
        _values(shown, point, name),
        Axis(_axis(shown), shown.format),
        marks=marks if found.count > 1 else (),
        source=f"sweep {data.record.sweep_id}",
    )


def _ecdf(data: SweepData, point: SweepPoint, name: str) -> Chart:
    shown, found = format_in(data, name), point.summary.figures[name]
    values = _values(shown, point, name)
    zero = sum(1 for each in values if not each) / len(values)
    title = f"Median {shown.title}: {shown.write(found.p50.value)}"
    if zero:
        title = f"{zero * 100:.0f} % of the runs have no {shown.title}"
    tail = at_risk(point, name).value
    return ecdf(
        title,
        f"Share of {found.count:,} runs at or below each {shown.title}",
        values,
        Axis(_axis(shown), shown.format),
        marks=[(shown.value(tail) or 0.0, f"{at_risk_name(name)} {shown.write(tail)}")],
        source=f"sweep {data.record.sweep_id}",
    )


def _by_point(data: SweepData, name: str) -> Chart:
    shown = format_in(data, name)
    points = [point for point in data.with_runs if name in point.summary.figures]
    rows = []
    for point in points[:MOST_POINTS]:
        found = point.summary.figures[name]
        middle, low, high = (shown.value(each.value) for each in (found.p50, found.p5, found.p95))
        rows.append((data.values_of(point) or "base", middle, low, high))
    medians = [point.summary.figures[name].p50.value for point in points]
    more = f"; the first {MOST_POINTS} of {len(points):,}" if len(points) > MOST_POINTS else ""
    axes = " · ".join(map(parameter_name, data.axes))
    return intervals(
        f"Median {shown.title} lies between {shown.write(min(medians))} and {shown.write(max(medians))}",
        f"Median of {shown.title} with its range from p5 to p95, by {axes}{more}",
        rows,
        Axis(_axis(shown), shown.format),
        source=f"sweep {data.record.sweep_id}",
        wide=True,
    )


def _values(shown: FigureFormat, point: SweepPoint, name: str) -> list[float]:
    return [each * shown.factor for each in point.kpis[name].finite]


def _axis(shown: FigureFormat) -> str:
    return f"{shown.title}, {shown.unit}" if shown.unit else shown.title
