"""Comparisons and tables of a backtest: paired differences, figures, windows, settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mayavi.portfolio.backtest.backtest import BOUND
from mayavi.portfolio.backtest.formatting import TITLES, figure
from mayavi.portfolio.backtest.metrics import METRICS
from mayavi.report.charts.axes import Axis
from mayavi.report.charts.intervals import intervals
from mayavi.report.page import Block, Column, Section, Table
from mayavi.report.shapes.backtests.lead import JUDGED, interval_text


def verdict_section(document: Mapping[str, Any]) -> Section:
    """Build the section of paired differences."""
    every = [*document["pooled"], *document["comparisons"]]
    together = {each["strategy"] for each in document["pooled"]}
    shown = [
        each
        for each in every
        if each["metric"] == JUDGED and (each["trainings"] > 1 or each["strategy"].partition("@")[0] not in together)
    ]
    blocks: list[Block] = []
    if shown:
        rows = [(_pair(each), *_rounded(each["difference"])) for each in shown[:24]]
        decided = sum(each["verdict"] in {"better", "worse"} for each in shown)
        blocks.append(
            intervals(
                f"{decided:,} of {len(shown):,} comparisons are decided",
                "Paired difference of log growth with its interval, on the same markets"
                + (f"; the first 24 of {len(shown):,}" if len(shown) > 24 else ""),
                rows,
                Axis("log growth, portfolio less the other", "number"),
                reference=(0.0, "equal"),
                wide=True,
            )
        )
    table = tuple(
        (
            f"{each['strategy']} ({each['trainings']} trainings)" if each["trainings"] > 1 else each["strategy"],
            each["against"], TITLES[each["metric"]], each["verdict"],
            figure(each["metric"], each["difference"]["value"]), interval_text(each["metric"], each["difference"]),
            each["wins"],
        )
        for each in every
    )  # fmt: skip
    columns = (
        Column("portfolio"), Column("against"), Column("by"), Column("verdict"), Column("difference", "text"),
        Column("interval", "text"), Column("wins", "percent"),
    )  # fmt: skip
    empty = "There is only one portfolio, and nothing to compare it with."
    blocks.append(Table(columns, table, empty=empty, note="Wins: share of episodes with more, ties counting half."))
    return Section("verdicts", "Paired differences", tuple(blocks))


def _rounded(difference: Mapping[str, float | None]) -> tuple[float | None, float | None, float | None]:
    """Estimate and interval of log growth, with more digits than the interval supports."""
    value, low, high = (
        None if number is None else round(number, 6) for number in (difference[key] for key in ("value", "low", "high"))
    )
    return value, low, high


def _pair(each: Mapping[str, Any]) -> str:
    many = f" ({each['trainings']} trainings)" if each["trainings"] > 1 else ""
    return f"{each['strategy']}{many} against {each['against']}"


def figures_lead(document: Mapping[str, Any]) -> str:
    """Say what the intervals of the figures are over."""
    share = f"{document['settings']['confidence'] * 100:g} %"
    if document["market"]["kind"] == "simulated":
        return f"Each figure with its {share} interval over whole episodes, where one can be trusted."
    return f"Each figure with its {share} interval over blocks of {document['settings']['block_hours']} hours."


def figure_table(document: Mapping[str, Any]) -> Table:
    """Transposed: one row a metric, one column a portfolio."""
    names = list(document["strategies"])
    rows: list[tuple[Any, ...]] = []
    for metric in METRICS:
        cells = []
        for name in names:
            estimate = document["strategies"][name]["metrics"][metric]
            interval = interval_text(metric, estimate)
            cells.append(f"{figure(metric, estimate['value'])} {interval if interval.startswith('[') else ''}".strip())
        bound = document[BOUND].get(metric)
        rows.append((TITLES[metric], *cells, None if bound is None else f"at most {figure(metric, bound['value'])}"))
    rows.append(("stopped early", *(f"{document['strategies'][name]['stopped']:,}" for name in names), None))
    columns = (Column("metric"), *(Column(name, "text") for name in names), Column(BOUND, "text"))
    meaning = "; ".join(f"{TITLES[name]}: {text}" for name, text in METRICS.items())
    return Table(columns, tuple(rows), note=meaning)


def window_table(document: Mapping[str, Any]) -> Table:
    """Build the table of returns by window."""
    names = list(document["strategies"])
    rows = []
    for at, (begin, end) in enumerate(document["market"]["windows"]):
        cells = []
        for name in names:
            episodes = document["strategies"][name].get("episodes")
            cells.append(None if episodes is None else episodes[at]["total_return"] / 100)
        rows.append((f"{begin[:10]} to {end[:10]}", *cells))
    return Table(
        (Column("window"), *(Column(name, "exact_percent") for name in names)),
        tuple(rows),
        title="Return of each window",
    )


def settings_table(document: Mapping[str, Any]) -> Table:
    """Build the table of settings."""
    rows = [(name, str(value)) for name, value in document["env"]["config"].items()]
    rows += [(f"{name} (backtest)", str(value)) for name, value in document["settings"].items()]
    return Table((Column("setting", "code"), Column("value")), tuple(rows))
