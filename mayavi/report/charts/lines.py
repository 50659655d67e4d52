"""Line charts: series over time or a number, with bands of uncertainty and labels at the ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mayavi.report.charts.axes import (
    COLOURS,
    DASHES,
    Axis,
    Values,
    Xs,
    base_layout,
    end_labels,
    finite,
    plain,
    whole_ticks,
)
from mayavi.report.charts.tables import series_table
from mayavi.report.page import Chart

LABEL_CHARACTERS = 26


@dataclass(frozen=True, slots=True)
class Line:
    """One series. `low` and `high` draw a band; `step` holds a value until the next; `fill` is an area to zero."""

    label: str
    values: Values
    low: Values | None = None
    high: Values | None = None
    step: bool = False
    colour: str = ""
    dash: str = ""
    markers: bool = False
    fill: bool = False


def lines(
    title: str,
    subtitle: str,
    x: Xs,
    series: Sequence[Line],
    y: Axis,
    *,
    height: int = 320,
    source: str = "",
    wide: bool = False,
    marks: Sequence[tuple[float, str]] = (),
) -> Chart:
    """Draw series over `x`; `marks` are horizontal lines, as (value, label)."""
    plotted, custom = x.plotted(), x.custom()
    traces: list[dict[str, Any]] = []
    ends: list[tuple[str, float | None, str]] = []
    for index, line in enumerate(series):
        colour = line.colour or COLOURS[index % len(COLOURS)]
        if line.low is not None and line.high is not None:
            traces.append(_band(plotted, line, colour))
        values = finite(line.values)
        traces.append(
            _trace(
                plotted, values, line, colour, line.dash or DASHES[index % len(DASHES)], y, x, custom, first=not index
            )
        )
        ends.append((_cut(line.label), _last(values), colour))
    low, high = _range(series, [value for value, _ in marks], y)
    layout = base_layout(xaxis=x.layout(), yaxis=y.layout(), shapes=[], annotations=[], hovermode="x unified")
    if x.time:
        layout["xaxis"]["hoverformat"] = "%Y-%m-%d %H:%M:%S UTC"
    layout["yaxis"] |= whole_ticks([value for line in series for value in line.values], y.format)
    layout["yaxis"]["range"] = [math.log10(low), math.log10(high)] if y.log else [low, high]
    for value, label in marks:
        layout["shapes"].append(_rule(value))
        layout["annotations"].append(_rule_label(value, label, log=y.log))
    if len(series) > 1:
        layout["annotations"] += end_labels(ends, low, high, log=y.log)
        layout["margin"] = {**layout["margin"], "r": 16 + 8 * max(len(text) for text, _, _ in ends)}
    return Chart(
        title,
        subtitle,
        tuple(traces),
        layout,
        series_table(x, _columns(series), y.format),
        height=height,
        source=source,
        time=x.time,
        wide=wide,
    )


def _trace(
    xs: list[Any],
    values: list[float | None],
    line: Line,
    colour: str,
    dash: str,
    y: Axis,
    x: Xs,
    custom: list[list[int]] | None,
    *,
    first: bool,
) -> dict[str, Any]:
    dots = line.markers or len(values) <= 2 or sum(value is not None for value in values) <= 2
    where = "<br>step %{customdata[0]}, block %{customdata[1]:,}" if custom and x.time and first else ""
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines+markers" if dots else "lines",
        "name": plain(line.label),
        "x": xs,
        "y": values,
        "line": {"color": colour, "width": 2, "dash": dash, **({"shape": "hv"} if line.step else {})},
        "hovertemplate": f"%{{y:{y.hover}}}{where}",
        "connectgaps": False,
    }
    if dots:
        trace["marker"] = {"color": colour, "size": 6}
    if line.fill:
        trace |= {"fill": "tozeroy", "fillcolor": f"{colour}/15"}
    if custom:
        trace["customdata"] = custom
    return trace


def _band(xs: list[Any], line: Line, colour: str) -> dict[str, Any]:
    pairs = [
        (at, low, high)
        for at, low, high in zip(xs, finite(line.low or ()), finite(line.high or ()), strict=True)
        if low is not None and high is not None
    ]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [at for at, _, _ in pairs] + [at for at, _, _ in reversed(pairs)],
        "y": [high for _, _, high in pairs] + [low for _, low, _ in reversed(pairs)],
        "fill": "toself",
        "fillcolor": f"{colour}/18",
        "line": {"width": 0, "color": colour},
        "hoverinfo": "skip",
        "showlegend": False,
        "name": plain(f"{line.label}: interval"),
    }


def _range(series: Sequence[Line], marks: list[float], y: Axis) -> tuple[float, float]:
    values = [
        value
        for line in series
        for part in (line.values, line.low or (), line.high or ())
        for value in finite(part)
        if value is not None and not (y.log and value <= 0)
    ]
    values += marks
    if not values:
        return (0.1, 10.0) if y.log else (0.0, 1.0)
    low, high = min(values), max(values)
    if y.log:
        return low / 1.3, high * 1.3
    if y.zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = (high - low) * 0.06 or abs(high) * 0.05 or (0.01 if y.format == "percent" else 0.5)
    return (low if y.zero and low == 0.0 else low - room), high + room


def _columns(series: Sequence[Line]) -> list[tuple[str, Values]]:
    columns: list[tuple[str, Values]] = []
    for line in series:
        columns.append((line.label, line.values))
        if line.low is not None and line.high is not None:
            columns += [(f"{line.label}, low", line.low), (f"{line.label}, high", line.high)]
    return columns


def _rule(value: float) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": value,
        "y1": value,
        "line": {"color": "$muted", "width": 1, "dash": "dot"},
    }


def _rule_label(value: float, label: str, *, log: bool) -> dict[str, Any]:
    return {
        "text": plain(label),
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "y": math.log10(value) if log and value > 0 else value,
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 12, "color": "$muted"},
    }


def _last(values: list[float | None]) -> float | None:
    return next((value for value in reversed(values) if value is not None), None)


def _cut(label: str) -> str:
    return label if len(label) <= LABEL_CHARACTERS else label[: LABEL_CHARACTERS - 1] + "…"
