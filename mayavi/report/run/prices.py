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
from mayavi.worlds.tables.morpho_market import PREFIX as MORPHO

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows

MOST_CHARTS = 6
SAME = 0.005
"""Relative difference below which two prices moved alike."""


@dataclass(frozen=True, slots=True)
class Source:
    """A recorded price. `times` is the price in dollars of the token it is quoted in, where it has to be converted."""

    label: str
    subject: str
    metric: str
    times: tuple[str, str] | None = None
    quote: str = ""

    def series(self, rows: RunRows) -> list[float | None]:
        """The price over the timeline, converted to dollars where `times` is given."""
        values = rows.series(self.subject, self.metric)
        if self.times is None:
            return values
        factors = rows.series(*self.times)
        return [None if a is None or b is None else a * b for a, b in zip(values, factors, strict=True)]


@dataclass
class Quotes:
    """Sources of one token's price, in dollars or another token."""

    token: str
    quote: str
    sources: list[Source] = field(default_factory=list)


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
    """Group the recorded prices by token and unit.

    A pool quotes in a token. If that is a dollar stablecoin whose own price is recorded, the pool's price is converted
    to dollars; otherwise it stays in that token.
    """
    found: dict[tuple[str, str], Quotes] = {}
    dollars = _dollar_prices(rows)

    def add(token: str, quote: str, *source: str) -> None:
        quotes = found.setdefault((token, quote), Quotes(token, quote))
        quotes.sources.append(Source(source[0], source[1], source[2]))

    def add_pool(token: str, quote: str, *source: str) -> None:
        if is_dollar(quote) and quote in dollars:
            quotes = found.setdefault((token, "USD"), Quotes(token, "USD"))
            quotes.sources.append(Source(source[0], source[1], source[2], dollars[quote], quote))
        else:
            add(token, quote, *source)

    for subject, metrics in rows.subjects.items():
        if "market_price" in metrics:
            add(subject, "USD", "outside market", subject, "market_price")
        for metric in sorted(metrics):
            if metric.startswith("price_"):
                add_pool(metric.removeprefix("price_"), first_coin(metrics), subject, subject, metric)
        if "price" not in metrics:
            continue
        if "/" in subject and not subject.startswith(("Chainlink", MORPHO)):
            base, _, rest = subject.partition(".")[2].partition("/")
            quote = rest.rpartition(".")[0] or rest
            add_pool(base, quote, f"pool {subject.partition('.')[2]}", subject, "price")
        else:
            unit = "ETH" if subject in rows.priced_in_ether else "USD"
            add(_oracle_token(subject), unit, f"oracle {subject.partition('.')[0]}", subject, "price")
    return list(found.values())


def first_coin(metrics: set[str]) -> str:
    """The coin that a Curve pool quotes its others in: the one that has a balance and no price."""
    coins = {metric.removeprefix("balance_") for metric in metrics if metric.startswith("balance_")}
    rest = sorted(coins - {metric.removeprefix("price_") for metric in metrics if metric.startswith("price_")})
    return rest[0] if len(rest) == 1 else "the pool's first coin"


def _dollar_prices(rows: RunRows) -> dict[str, tuple[str, str]]:
    """Where the price of a token in dollars is recorded, as (subject, metric): outside market, else an oracle."""
    found = {name: (name, "market_price") for name, metrics in rows.subjects.items() if "market_price" in metrics}
    for subject, metrics in rows.subjects.items():
        is_oracle = "/" not in subject or subject.startswith(MORPHO)
        if "price" in metrics and is_oracle and subject not in rows.priced_in_ether:
            found.setdefault(_oracle_token(subject), (subject, "price"))
    return found


def _oracle_token(subject: str) -> str:
    market, _, token = subject.partition(".")
    if market == "CompoundV3":
        token = token.rpartition(".")[2] if "." in token else _base_of(token)
    elif subject.startswith(MORPHO):  # Morpho.wstETH/USDC.86.wstETH
        token = token.rpartition(".")[2]
    return token or subject


def price_chart(rows: RunRows, quotes: Quotes, *, hero: bool = False) -> Chart | None:
    """One token's prices; None if there are no points or nothing moves."""
    sources = quotes.sources[:5]
    series = [(source.label, source.series(rows)) for source in sources]
    known = [value for _, values in series for value in values if value is not None]
    if not known or (min(known) == max(known) and not hero):
        return None
    dollars = quotes.quote == "USD"
    title = _finding(quotes.token, series, "" if dollars else quotes.quote)
    converted = sorted({source.quote for source in sources if source.times})
    note = f" Prices in {' and '.join(converted)} are converted at its recorded price." if converted else ""
    return lines(
        title,
        f"Price of one {quotes.token} in {'dollars' if dollars else quotes.quote} by {_listed(series)}; {rows.sample}."
        f"{note}",
        rows.x,
        [Line(label, values) for label, values in series],
        Axis("" if dollars else quotes.quote, "usd" if dollars else "short"),
        source="Market figures of the run (table market_snapshots)."
        " The oracle is read from the lending market, the pool from its contract.",
        wide=hero,
    )


def _finding(token: str, series: list[tuple[str, list[float | None]]], against: str) -> str:
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
    title = moved(token, share, against)
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
