"""Heat maps, with the number in each cell where there are fewer than 100 cells."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from mayavi.report.charts.axes import Axis, Values, axis_title, base_layout, finite, plain
from mayavi.report.charts.tables import exact_format
from mayavi.report.numbers import FORMATS, TICKS
from mayavi.report.page import Chart, Column, Table

NUMBERED = 100
"""From this number of cells the numbers are left to hover texts and the table."""


def heat_map(
    title: str,
    subtitle: str,
    x: tuple[str, Sequence[str]],
    y: tuple[str, Sequence[str]],
    cells: Sequence[Values],
    value: Axis,
    *,
    diverging: bool = False,
    height: int = 0,
    source: str = "",
    wide: bool = False,
) -> Chart:
    """Draw `cells[row][column]` over labels: `x` and `y` are (axis title, labels), the first row on top.

    A diverging scale has zero in the middle, for changes and differences.
    """
    (x_title, columns), (y_title, rows) = x, y
    write = FORMATS.get(value.format, FORMATS["short"])
    z = [finite(row) for row in cells]
    known = [each for row in z for each in row if each is not None]
    trace: dict[str, Any] = {
        "type": "heatmap",
        "x": list(range(len(columns))),
        "y": list(range(len(rows))),
        "z": z,
        "xgap": 2,
        "ygap": 2,
        "colorscale": "$diverging" if diverging else "$scale",
        "text": [[write(each) for each in row] for row in z],
        "hovertemplate": "%{text}<extra></extra>",
        "showscale": len(rows) * len(columns) >= NUMBERED,
        "colorbar": {"thickness": 10, "outlinewidth": 0, **TICKS.get(value.format, {"tickformat": value.format})},
    }
    if len(rows) * len(columns) < NUMBERED:
        trace |= {"texttemplate": "%{text}", "textfont": {"size": 13}}
    if diverging and known:
        most = max(map(abs, known)) or 1.0
        trace |= {"zmin": -most, "zmax": most}
    elif known and min(known) >= 0:
        trace |= {"zmin": 0, "zmax": max(known) or 1.0}
    tall = height or max(160, 90 + 40 * min(len(rows), 12) if len(rows) <= 12 else 560)
    layout = base_layout(
        xaxis=_labels(x_title, columns) | {"side": "bottom"},
        yaxis=_labels(y_title, rows) | {"autorange": "reversed"},
    )
    if y_title:  # Plotly cuts a title that is longer than its axis
        lines = wrap(y_title, max(12, (tall - 70) // 7))
        layout["yaxis"]["title"]["text"] = "<br>".join(map(plain, lines))
    corner = f"{y_title} \\ {x_title}" if x_title or y_title else "name"
    table = Table(
        (Column(corner), *(Column(each, exact_format(value.format)) for each in columns)),
        tuple((label, *row) for label, row in zip(rows, z, strict=True)),
    )
    return Chart(title, subtitle, (trace,), layout, table, height=tall, source=source, wide=wide)


def _labels(title: str, labels: Sequence[str]) -> dict[str, Any]:
    return {
        **axis_title(title),
        "tickvals": list(range(len(labels))),
        "ticktext": [plain(label if len(label) <= 24 else f"{label[:23]}…") for label in labels],
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
    }
