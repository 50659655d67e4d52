"""Estimates with their intervals, one a row: verdicts of evaluations, sensitivities, paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from mayavi.report.charts.axes import Axis, base_layout, finite, plain
from mayavi.report.charts.tables import exact_format
from mayavi.report.numbers import FORMATS, bounds, exists
from mayavi.report.page import Chart, Column, Table

_LABEL_CHARACTERS = 34


def intervals(
    title: str,
    subtitle: str,
    rows: Sequence[tuple[str, float | None, float | None, float | None]],
    x: Axis,
    *,
    reference: tuple[float, str] | None = None,
    height: int = 0,
    source: str = "",
    wide: bool = False,
) -> Chart:
    """Draw a point and its interval for each row (label, estimate, low, high); `reference` is a vertical line."""
    places, exact = list(range(len(rows))), exact_format(x.format)
    estimates = finite([each for _, each, _, _ in rows])
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers",
        "x": estimates,
        "y": places,
        "marker": {"color": "$1", "size": 10},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [_length(at, high) for _, at, _, high in rows],
            "arrayminus": [_length(low, at) for _, at, low, _ in rows],
            "color": "$1",
            "thickness": 2,
            "width": 5,
        },
        "customdata": [[_hover(exact, *each)] for _, *each in rows],
        "hovertemplate": "%{customdata[0]}<extra></extra>",
    }
    layout = base_layout(
        xaxis=x.layout(),
        yaxis={
            "tickvals": places,
            "ticktext": [_two_lines(label) for label, *_ in rows],
            "range": [len(rows) - 0.5, -0.5],
            "automargin": True,
            "gridcolor": "$grid",
            "zeroline": False,
        },
        shapes=[],
        annotations=[],
    )
    if reference:
        value, label = reference
        line = {"color": "$muted", "width": 1.5, "dash": "dot"}
        layout["margin"] = {**layout["margin"], "t": 28}
        layout["shapes"].append(
            {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": value, "x1": value, "line": line}
        )
        layout["annotations"].append(
            {"text": plain(label), "x": value, "y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False}
        )
    columns = (Column("name"), Column("estimate", exact), Column("low", exact), Column("high", exact))
    known = tuple((label, *finite(each)) for label, *each in rows)
    tall = height or max(150, 80 + 36 * len(rows))
    return Chart(title, subtitle, (trace,), layout, Table(columns, known), height=tall, source=source, wide=wide)


def _hover(format: str, estimate: float | None, low: float | None, high: float | None) -> str:
    """Estimate with its interval, if it has one."""
    write = FORMATS.get(format, FORMATS["number"])
    return f"{write(estimate)} {bounds(low, high, format if format in FORMATS else 'number')}".strip()


def _length(low: float | None, high: float | None) -> float | None:
    return high - low if low is not None and high is not None and exists(low) and exists(high) else None


def _two_lines(label: str) -> str:
    """Break a long label, so that charts keep their width on narrow screens."""
    lines = wrap(label, _LABEL_CHARACTERS, max_lines=2, placeholder="…", break_on_hyphens=False)
    return "<br>".join(plain(line) for line in lines)
