"""Prices over time: oracle, pool and outside market of each token in one chart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mayavi.report.charts.axes import Axis
from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import change
from mayavi.report.page import Chart, Section
from mayavi.report.run.words import moved
from mayavi.scenarios.figures.notes import is_dollar

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows

MOST_CHARTS = 6
SAME = 0.005
"""Relative difference below which two prices moved alike."""


@dataclass
class Quotes:
    """Sources of one token's price: (label, subject, metric), in dollars or another token."""

    token: str
    quote: str
    sources: list[tuple[str, str, str]] = field(default_factory=list)


def price_section(rows: RunRows) -> Section | None:
    """Charts of every token whose price the run recorded, the largest move first."""
    charts = [chart for chart in (price_chart(rows, quotes) for quotes in quoted(rows)) if chart is not None]
    if not charts:
        return None
    charts.sort(key=lambda each: -_span(each))
    lead = "Oracle, pool and outside market. A gap between them is what arbitrageurs and liquidators trade on."
    left = len(charts) - MOST_CHARTS
    note = f" {left} more tokens are in the store." if left > 0 else ""
    return Section("prices", "Prices", tuple(charts[:MOST_CHARTS]), lead + note)


def quoted(rows: RunRows) -> list[Quotes]:
    """Group the recorded prices by token and unit."""
    found: dict[tuple[str, str], Quotes] = {}

    def add(token: str, quote: str, *source: str) -> None:
        quotes = found.setdefault((token, quote), Quotes(token, quote))
        quotes.sources.append((source[0], source[1], source[2]))

    for subject, metrics in rows.subjects.items():
        if "market_price" in metrics:
            add(subject, "USD", "outside market", subject, "market_price")
        for metric in sorted(metrics):
            if metric.startswith("price_"):
                add(metric.removeprefix("price_"), "USD", subject, subject, metric)
        if "price" not in metrics:
            continue
        if "/" in subject and not subject.startswith("Chainlink"):
            base, _, rest = subject.partition(".")[2].partition("/")
            quote = rest.rpartition(".")[0] or rest
            add(base, "USD" if is_dollar(quote) else quote, f"pool {subject.partition('.')[2]}", subject, "price")
        else:
            market, _, token = subject.partition(".")
            token = token.rpartition(".")[2] if market == "CompoundV3" and "." in token else token
            if market == "CompoundV3" and "." not in subject.partition(".")[2]:
                token = _base_of(token)
            add(token or subject, "USD", f"oracle {market}", subject, "price")
    return list(found.values())


def price_chart(rows: RunRows, quotes: Quotes, *, hero: bool = False) -> Chart | None:
    """One token's prices; None if there are no points or nothing moves."""
    series = [(label, rows.series(subject, metric)) for label, subject, metric in quotes.sources[:5]]
    known = [value for _, values in series for value in values if value is not None]
    if not known or (min(known) == max(known) and not hero):
        return None
    dollars = quotes.quote == "USD"
    title = _finding(quotes.token, series)
    return lines(
        title,
        f"Price of one {quotes.token} in {'dollars' if dollars else quotes.quote} by {_listed(series)}; {rows.sample}.",
        rows.x,
        [Line(label, values) for label, values in series],
        Axis("" if dollars else quotes.quote, "usd" if dollars else "short"),
        source="Table market_snapshots. The oracle is read from the lending market, the pool from its contract.",
        wide=hero,
    )


def _finding(token: str, series: list[tuple[str, list[float | None]]]) -> str:
    """Say how far the price moved: where it moved most, and that the others did not follow if so."""
    moves = []
    for label, values in series:
        known = [value for value in values if value is not None]
        first = next((value for value in known if value), None)
        if first is not None:
            moves.append((known[-1] / first - 1, min(known) / first - 1, label))
    if not moves:
        return f"The price of {token} is zero"
    share, low, label = max(moves, key=lambda move: (abs(move[0]), move[2]))
    calm, _, other = min(moves, key=lambda move: (abs(move[0]), move[2]))
    title = moved(token, share)
    if abs(share - calm) > SAME:
        title += f" by {label}, {change(calm) if calm else 'not at all'} by {other}"
    else:
        title += " from start to end"
    return title + (f"; {change(low)} at its lowest" if low < min(share, 0) - SAME else "")


def _listed(series: list[tuple[str, list[float | None]]]) -> str:
    return ", ".join(label for label, _ in series)


def _base_of(token: str) -> str:
    return token.removeprefix("c").removesuffix("v3")


def _span(chart: Chart) -> float:
    spans = []
    for trace in chart.traces:
        known = [value for value in trace["y"] if value]
        if known:
            spans.append(max(known) / min(known) - 1 if min(known) > 0 else 0.0)
    return max(spans, default=0.0)
