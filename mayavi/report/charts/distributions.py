"""Distributions of one figure over many runs: quantile dots for few, histogram and ECDF for many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mayavi.report.charts.axes import Axis, base_layout, finite, plain
from mayavi.report.charts.tables import exact_format
from mayavi.report.page import Chart, Column, Table

FEW = 200
"""Below this number of values each is drawn as a dot."""
Marks = Sequence[tuple[float, str]]
"""Vertical lines, as (value, label): mean, VaR."""


def distribution(
    title: str, subtitle: str, values: Sequence[float], x: Axis, *, marks: Marks = (), **more: Any
) -> Chart:
    """Draw dots below `FEW` values and a histogram above."""
    known = [value for value in finite(values) if value is not None]
    draw = dots if len(known) < FEW else histogram
    return draw(title, subtitle, known, x, marks=marks, **more)


def dots(title: str, subtitle: str, values: Sequence[float], x: Axis, *, marks: Marks = (), **more: Any) -> Chart:
    """Draw one dot a value, stacked where values are close."""
    ordered = np.sort(np.asarray(values, dtype=float))
    span = float(ordered[-1] - ordered[0]) if len(ordered) else 0.0
    width = span / 50 or 1.0
    places = np.round((ordered - ordered[0]) / width).astype(int) if len(ordered) else np.array([], dtype=int)
    heights, seen = [], dict[int, int]()
    for place in places.tolist():
        seen[place] = seen.get(place, 0) + 1
        heights.append(seen[place])
    most = max(heights, default=1)
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": ordered.tolist(),
        "y": heights,
        "marker": {"color": "$1", "size": max(5, min(12, round(150 / most))), "line": {"color": "$paper", "width": 1}},
        "hovertemplate": f"%{{x:{x.hover}}}<extra></extra>",
    }
    layout = _layout(x, marks) | {"yaxis": {"visible": False, "range": [0, max(most + 1, 6)]}}
    table = Table((Column(x.label or "value", exact_format(x.format)),), tuple((value,) for value in ordered.tolist()))
    return Chart(title, subtitle, (trace,), layout, table, **{"height": 240, **more})


def histogram(
    title: str, subtitle: str, values: Sequence[float], x: Axis, *, marks: Marks = (), bins: int = 40, **more: Any
) -> Chart:
    """Draw a histogram with equal bins, counted here: the page holds counts, not values."""
    counts, edges = np.histogram(np.asarray(values, dtype=float), bins=bins)
    trace = {
        "type": "bar",
        "x": ((edges[:-1] + edges[1:]) / 2).tolist(),
        "y": counts.tolist(),
        "width": np.diff(edges).tolist(),
        "marker": {"color": "$1"},
        "customdata": [[low, high] for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)],
        "hovertemplate": f"%{{y:,}} from %{{customdata[0]:{x.hover}}} to %{{customdata[1]:{x.hover}}}<extra></extra>",
    }
    layout = _layout(x, marks) | {"yaxis": Axis("count", "count", zero=True).layout(), "bargap": 0.03}
    rows = tuple(zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True))
    table = Table(
        (Column("from", exact_format(x.format)), Column("to", exact_format(x.format)), Column("count", "count")), rows
    )
    return Chart(title, subtitle, (trace,), layout, table, **{"height": 260, **more})


def ecdf(title: str, subtitle: str, values: Sequence[float], x: Axis, *, marks: Marks = (), **more: Any) -> Chart:
    """Draw the share of values at or below each value; at most 500 points."""
    ordered = np.sort(np.asarray([value for value in finite(values) if value is not None], dtype=float))
    shares = np.arange(1, len(ordered) + 1) / max(1, len(ordered))
    kept = np.unique(np.linspace(0, max(0, len(ordered) - 1), min(500, len(ordered))).astype(int))
    xs, ys = ordered[kept].tolist(), shares[kept].tolist()
    trace = {
        "type": "scatter",
        "mode": "lines",
        "x": xs,
        "y": ys,
        "line": {"color": "$1", "width": 2, "shape": "hv"},
        "hovertemplate": f"%{{y:.1%}} at or below %{{x:{x.hover}}}<extra></extra>",
    }
    layout = _layout(x, marks) | {"yaxis": Axis("share of runs", "percent", zero=True).layout() | {"range": [0, 1.02]}}
    table = Table(
        (Column(x.label or "value", exact_format(x.format)), Column("share at or below", "percent")),
        tuple(zip(xs, ys, strict=True)),
    )
    return Chart(title, subtitle, (trace,), layout, table, **{"height": 260, **more})


def _layout(x: Axis, marks: Marks) -> dict[str, Any]:
    layout = base_layout(xaxis=x.layout(), shapes=[], annotations=[])
    layout["margin"] = {**layout["margin"], "t": 28 if marks else 8}
    for value, label in marks:
        line = {"color": "$2", "width": 1.5, "dash": "dash"}
        layout["shapes"].append(
            {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": value, "x1": value, "line": line}
        )
        layout["annotations"].append(
            {"text": plain(label), "x": value, "y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False}
        )
    return layout
