"""Stacked areas: how a population divides into classes over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mayavi.report.charts.axes import Axis, Values, Xs, base_layout, finite, plain, whole_ticks
from mayavi.report.charts.tables import series_table
from mayavi.report.page import Chart


def stacked_areas(
    title: str,
    subtitle: str,
    x: Xs,
    classes: Sequence[tuple[str, Values, str]],
    y: Axis,
    *,
    height: int = 320,
    source: str = "",
    wide: bool = False,
) -> Chart:
    """Draw classes (label, values, colour) on top of one another, the first at the bottom."""
    custom = x.custom()
    traces = []
    for label, values, colour in classes:
        trace: dict[str, Any] = {
            "type": "scatter",
            "mode": "lines",
            "name": plain(label),
            "x": x.plotted(),
            "y": finite(values),
            "stackgroup": "all",
            "line": {"width": 0.5, "color": colour, "shape": "hv"},
            "fillcolor": colour,
            "hovertemplate": f"%{{y:{y.hover}}}",
        }
        if custom:
            trace["customdata"] = custom
        traces.append(trace)
    totals = [sum(each or 0.0 for each in at) for at in zip(*(finite(values) for _, values, _ in classes), strict=True)]
    ticks = whole_ticks(totals, y.format)
    layout = base_layout(xaxis=x.layout(), yaxis=y.layout() | {"rangemode": "tozero"} | ticks, hovermode="x unified")
    layout["showlegend"] = True
    layout["legend"] = {**layout["legend"], "traceorder": "normal"}
    if x.time:
        layout["xaxis"]["hoverformat"] = "%Y-%m-%d %H:%M:%S UTC"
    table = series_table(x, [(label, values) for label, values, _ in classes], y.format)
    return Chart(title, subtitle, tuple(traces), layout, table, height=height, source=source, time=x.time, wide=wide)
