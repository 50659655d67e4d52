"""The table behind a chart: exact values where the chart rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mayavi.report.charts.axes import Values, Xs, finite
from mayavi.report.numbers import utc
from mayavi.report.page import Column, Table

_EXACT = {"usd": "exact_usd", "percent": "exact_percent", "change": "exact_percent", "short": "number"}


def exact_format(format: str) -> str:
    """The format of a table column for values that an axis shows in `format`."""
    return _EXACT.get(format, format)


def series_table(x: Xs, series: Sequence[tuple[str, Values]], format: str) -> Table:
    """One row per point of `x`: step, block and time where it has them, then each (label, values)."""
    columns: list[Column] = []
    parts: list[Sequence[Any]] = []
    if x.steps:
        columns.append(Column("step", "count"))
        parts.append(x.steps)
    if x.blocks:
        columns.append(Column("block", "count"))
        parts.append(x.blocks)
    if x.time:
        columns.append(Column("time, UTC"))
        parts.append([utc(int(value)).removesuffix(" UTC") for value in x.values])
    else:
        text = bool(x.values) and isinstance(x.values[0], str)
        columns.append(Column(x.label or "x", "" if text else x.format))
        parts.append(x.values)
    for label, values in series:
        columns.append(Column(label, exact_format(format)))
        parts.append(finite(values))
    return Table(tuple(columns), tuple(zip(*parts, strict=True)))
