"""Bar charts, from zero: one bar a label, or several series side by side or stacked."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mayavi.report.charts.axes import COLOURS, Axis, Values, Xs, base_layout, finite, plain, whole_ticks
from mayavi.report.charts.tables import exact_format, series_table
from mayavi.report.numbers import FORMATS
from mayavi.report.page import Chart, Column, Table

PATTERNS = ("", "/", ".", "x", "-")
"""Fill patterns of stacked series, which grey printers and colour-blind readers need."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One series of bars. `low` and `high` draw whiskers."""

    label: str
    values: Values
    low: Values | None = None
    high: Values | None = None
    colour: str = ""


def bars(
    title: str,
    subtitle: str,
    labels: Sequence[str],
    series: Sequence[Bar],
    y: Axis,
    *,
    height: int = 0,
    source: str = "",
    wide: bool = False,
    label_title: str = "",
) -> Chart:
    """Draw horizontal bars, the first label on top, with the number at the end of each bar."""
    write = FORMATS.get(y.format, FORMATS["short"])
    cut = [plain(label if len(label) <= 44 else f"{label[:43]}…") for label in labels]
    places = list(range(len(labels)))
    traces = []
    for index, bar in enumerate(series):
        values = finite(bar.values)
        trace: dict[str, Any] = {
            "type": "bar",
            "orientation": "h",
            "name": plain(bar.label),
            "y": places,
            "x": values,
            "text": [write(value) for value in values],
            "textposition": "outside",
            "cliponaxis": False,
            "marker": {"color": bar.colour or COLOURS[index % len(COLOURS)]},
            "hovertemplate": f"%{{x:{y.hover}}}",
        }
        if bar.low is not None and bar.high is not None:
            trace |= {"error_x": _whiskers(values, bar), "textposition": "inside", "insidetextanchor": "start"}
        traces.append(trace)
    values_axis = y.layout() | {"rangemode": "tozero"}
    top = max((value for bar in series for value in finite(bar.high or bar.values) if value is not None), default=0.0)
    if top > 0 and not y.log:
        bottoms = (value for bar in series for value in finite(bar.low or bar.values) if value is not None)
        least = min(bottoms, default=0.0)
        values_axis["range"] = [min(0.0, least * 1.18), top * 1.18]
    layout = base_layout(
        xaxis=values_axis,
        yaxis={
            "tickvals": places,
            "ticktext": cut,
            "autorange": "reversed",
            "automargin": True,
            "linecolor": "$axis",
            "showgrid": False,
        },
        bargap=0.35,
        showlegend=len(series) > 1,
    )
    rows = tuple((label, *each) for label, *each in zip(labels, *(finite(bar.values) for bar in series), strict=True))
    columns = (Column(label_title or "name"), *(Column(bar.label, exact_format(y.format)) for bar in series))
    return Chart(
        title,
        subtitle,
        tuple(traces),
        layout,
        Table(columns, rows),
        height=height or max(140, 64 + 34 * len(labels) * max(1, len(series)) + (30 if len(series) > 1 else 0)),
        source=source,
        wide=wide,
    )


def columns_over(
    title: str,
    subtitle: str,
    x: Xs,
    series: Sequence[Bar],
    y: Axis,
    *,
    height: int = 280,
    source: str = "",
    wide: bool = False,
) -> Chart:
    """Draw stacked vertical bars over time or a number."""
    custom = x.custom()
    traces = []
    for index, bar in enumerate(series):
        colour = bar.colour or COLOURS[index % len(COLOURS)]
        trace: dict[str, Any] = {
            "type": "bar",
            "name": plain(bar.label),
            "x": x.plotted(),
            "y": finite(bar.values),
            "marker": {"color": colour, "pattern": {"shape": PATTERNS[index % len(PATTERNS)], "solidity": 0.25}},
            "hovertemplate": f"%{{y:{y.hover}}}"
            + ("<br>step %{customdata[0]}, block %{customdata[1]:,}" if custom else ""),
        }
        if custom:
            trace["customdata"] = custom
        if x.time:
            trace["width"] = _width(x.plotted())
        traces.append(trace)
    tallest = [
        sum(each or 0.0 for each in values) for values in zip(*(finite(bar.values) for bar in series), strict=True)
    ]
    layout = base_layout(
        xaxis=x.layout(),
        yaxis=y.layout() | {"rangemode": "tozero"} | whole_ticks(tallest, y.format),
        barmode="relative",
        bargap=0.15,
        showlegend=len(series) > 1,
    )
    if x.time:
        layout["xaxis"]["hoverformat"] = "%Y-%m-%d %H:%M:%S UTC"
    table = series_table(x, [(bar.label, bar.values) for bar in series], y.format)
    return Chart(title, subtitle, tuple(traces), layout, table, height=height, source=source, time=x.time, wide=wide)


def _width(moments: list[float]) -> float:
    """The width of bars over time: most of the usual distance, because two moments may be much closer."""
    distances = sorted(b - a for a, b in itertools.pairwise(moments))
    return 0.8 * distances[len(distances) // 2] if distances else 1.0


def _whiskers(values: list[float | None], bar: Bar) -> dict[str, Any]:
    lows, highs = finite(bar.low or ()), finite(bar.high or ())
    return {
        "type": "data",
        "symmetric": False,
        "array": [None if a is None or b is None else b - a for a, b in zip(values, highs, strict=True)],
        "arrayminus": [None if a is None or b is None else a - b for a, b in zip(values, lows, strict=True)],
        "color": "$ink",
        "thickness": 1.5,
        "width": 4,
    }
