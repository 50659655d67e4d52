"""Figures of the scenario's own contracts over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from mayavi.report.charts.axes import Axis
from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import short
from mayavi.report.page import Chart, Section

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows

MOST_CHARTS = 12
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def contract_section(rows: RunRows) -> Section | None:
    """A chart of every figure that the scenario's `contracts` record; None without one."""
    charts = tuple(chart for name, figure in own_figures(rows)[:MOST_CHARTS] if (chart := chart_of(rows, name, figure)))
    lead = "Views of the scenario's own contracts, read after every step."
    return Section("contracts", "Your contracts", charts, lead) if charts else None


def own_figures(rows: RunRows) -> list[tuple[str, str]]:
    """Contract and name of each recorded figure, in the order of the scenario."""
    found = yaml.load(rows.run.scenario_text, _LOADER) if "contracts:" in rows.run.scenario_text else None
    contracts = found.get("contracts") if isinstance(found, dict) else None
    return [
        (name, figure)
        for name, contract in (contracts or {}).items()
        for figure in contract.get("figures") or ()
        if figure in rows.subjects.get(name, ())
    ]


def change_of(rows: RunRows, name: str, figure: str) -> str:
    """Say where a figure begins and ends."""
    known = [value for value in rows.series(name, figure) if value is not None]
    if not known:
        return ""
    first, last = short(known[0]), short(known[-1])
    return f"{name}.{figure} " + (f"stays {first}" if first == last else f"goes from {first} to {last}")


def chart_of(rows: RunRows, name: str, figure: str) -> Chart | None:
    """The figure after every step."""
    title = change_of(rows, name, figure)
    if not title:
        return None
    return lines(
        title,
        f"As the contract says after each step; {rows.sample}.",
        rows.x,
        [Line(figure, rows.series(name, figure), step=True)],
        Axis("", "short"),
        source=f"Market figures of {name} (table market_snapshots).",
    )
