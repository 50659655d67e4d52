"""Charts of a backtest over time: growth, drawdown and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mayavi.portfolio.backtest.formatting import NAMES, figure
from mayavi.portfolio.market.data import ASSETS
from mayavi.report.charts.areas import stacked_areas
from mayavi.report.charts.axes import COLOURS, Axis, Xs
from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import change
from mayavi.report.page import Chart
from mayavi.report.shapes.backtests.lead import growth_of, is_drawn, rival_of, verdict_word

MOST_LINES = 5
MOST_WEIGHTS = 6


def equity_chart(document: Mapping[str, Any], lead: str) -> Chart:
    """Chart the growth of the capital of the portfolios shown."""
    curves = document["curves"]
    series, ends = [], {}
    for name in _shown(document, lead):
        rows = curves[name]["equity"]
        middle = [value - 1 for value in rows[len(rows) // 2]]
        low = [value - 1 for value in rows[0]] if len(rows) == 3 and name == lead else None
        high = [value - 1 for value in rows[2]] if len(rows) == 3 and name == lead else None
        series.append(Line(name, middle, low=low, high=high))
        ends[name] = change(middle[-1])
    about = (
        f"Growth of the capital, median of {document['market']['episodes']:,} episodes (the tiles have means); the band"
        f" has 90 % of {lead}'s"
        if is_drawn(document)
        else "Growth of the capital over consecutive windows, each started anew with the initial capital"
    )
    if len(series) < len(curves):
        about += f"; {len(series)} of {len(curves):,} portfolios"
    return lines(
        _equity_title(document, lead, ends),
        about,
        _xs(document, curves[lead]["hours"]),
        series,
        Axis("growth of the capital", "change"),
        marks=[(0.0, "initial capital")],
        wide=True,
    )


def _equity_title(document: Mapping[str, Any], lead: str, ends: Mapping[str, str]) -> str:
    """State the ends of lead and rival, and rank them only if the verdict does."""
    rival, median = rival_of(document, lead), " at the median" if is_drawn(document) else ""
    if rival is None:
        return f"{lead} ends at {ends[lead]}{median}"
    if verdict_word(document, lead) in {"better", "worse"}:
        return f"{lead} ends at {ends[lead]}{median}, {rival} at {ends[rival]}"
    return f"{lead} and {rival} cannot be told apart: they end at {ends[lead]} and {ends[rival]}{median}"


def drawdown_chart(document: Mapping[str, Any], lead: str) -> Chart:
    """Chart the drawdown of the portfolios shown."""
    curves, names = document["curves"], _shown(document, lead)
    metric = {name: document["strategies"][name]["metrics"]["max_drawdown"]["value"] for name in names}
    deepest = max(names, key=lambda name: metric[name])
    told = figure("max_drawdown", metric[deepest])
    which = deepest if len(names) == len(curves) else f"Of these {len(names)}, {deepest}"
    title = f"{which} falls deepest: {told} below its peak"
    about = "Loss from the highest value so far, over consecutive windows"
    if is_drawn(document):
        title = f"{which} falls deepest: its episodes' largest drawdowns are {told} on average"
        about = (
            "Loss from the highest value so far at each hour, mean of all episodes. It is less deep than the mean of"
            " their largest drawdowns, which fall on different hours"
        )
    return lines(
        title,
        about,
        _xs(document, curves[lead]["hours"]),
        [Line(name, [0.0 - value for value in curves[name]["drawdown"]]) for name in names],
        Axis("drawdown", "percent"),
        wide=True,
    )


def weight_charts(document: Mapping[str, Any], lead: str) -> list[Chart]:
    """Chart the weights of each portfolio shown."""
    found = []
    for name in [lead, *(each for each in _shown(document, lead) if each != lead)][:MOST_WEIGHTS]:
        curve = document["curves"][name]
        layers = [(NAMES[asset], [row[at] for row in curve["weights"]], COLOURS[at]) for at, asset in enumerate(ASSETS)]
        means = [(label, sum(values) / len(values)) for label, values, _ in layers]
        text = ", ".join(f"{label} {mean * 100:.0f} %" for label, mean in means)
        found.append(
            stacked_areas(
                f"{name}: {text}",
                "Weights over time; the numbers are their means",
                _xs(document, curve["hours"]),
                layers,
                Axis("share of the value", "percent"),
                height=220,
            )
        )
    return found


def _shown(document: Mapping[str, Any], lead: str) -> list[str]:
    """Portfolios that charts draw: the lead, its rival of the verdict, other policies, the fastest growing rules."""
    rival = rival_of(document, lead)
    others = [name for name in document["strategies"] if name != lead]
    others.sort(key=lambda name: (name != rival, name not in document["subjects"], -growth_of(document, name)))
    return [lead, *others][:MOST_LINES]


def _xs(document: Mapping[str, Any], hours: Sequence[float]) -> Xs:
    return Xs([round(hour / 24, 3) for hour in hours], "days", "number")
