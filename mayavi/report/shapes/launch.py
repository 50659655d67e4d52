"""A token launch replayed from its record: every trade against what was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.report.charts.axes import Axis
from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import exact, percent, short
from mayavi.report.page import Chart, Section, Tile, Verdict
from mayavi.report.run.pools import pool_section
from mayavi.report.run.prices import price_chart, price_section, quoted
from mayavi.report.run.trading import sales_section, sellers
from mayavi.report.run.words import ended, kpi_tile, moved_pair, plural, price_moves
from mayavi.report.shapes.shape import Answer, Shape

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows

CLOSE = 1e-4
"""Largest relative difference from the record that counts as a match."""


def matches(rows: RunRows) -> bool:
    """Whether the run has trades with a recorded outcome."""
    return "trades_on_record" in rows.kpis


def answer(rows: RunRows) -> Answer:
    """Compose the page of a launch."""
    record = difference_chart(rows)
    return Answer(
        ended(rows, verdict(rows)),
        tiles(rows),
        summary(rows),
        hero(rows),
        (
            Section("record", "Against the record", (record,)) if record else None,
            sales_section(rows),
            pool_section(rows),
            price_section(rows),
        ),
    )


def verdict(rows: RunRows) -> Verdict:
    """Say how close the replay is to the record."""
    trades, worst = rows.kpi("trades_on_record"), rows.kpi("largest_difference_from_record") or 0.0
    close = worst <= CLOSE
    sentence = (
        f"All {plural(trades, 'recorded trade')} are reproduced: the largest difference is {percent(worst)}."
        if close
        else f"The largest difference from the record in {plural(trades, 'trade')} is {percent(worst)}."
    )
    return Verdict(
        sentence, "MATCH" if close else "DIFFERS", "good" if close else "warn", "Compared trade by trade; not a sample."
    )


def tiles(rows: RunRows) -> tuple[Tile, ...]:
    """Number of trades, largest difference, price move, volume."""
    found = [
        kpi_tile(rows, "trades_on_record", "Recorded trades"),
        kpi_tile(rows, "largest_difference_from_record", "Largest difference"),
    ]
    found += [
        kpi_tile(rows, f"{kind}.{of}", f"Price of {of}", change="start to end") for of, kind, _ in price_moves(rows)[:1]
    ]
    found += [
        kpi_tile(rows, f"sold.{agent}.{pair.partition('/')[0]}", f"Sold {pair.partition('/')[0]}")
        for agent, pair, _, _, _ in sellers(rows)[:3]
    ]
    return tuple(found[:6])


def hero(rows: RunRows) -> Chart | None:
    """The price of the launched token."""
    pools = [quotes for quotes in quoted(rows) if any(source.label.startswith("pool") for source in quotes.sources)]
    return price_chart(rows, pools[0], hero=True) if pools else None


def difference_chart(rows: RunRows) -> Chart | None:
    """The largest relative difference from the record in each step."""
    recorded = "TRY_CAST(json_extract_string(details, '$.recorded_out') AS DOUBLE)"
    got = "TRY_CAST(json_extract_string(details, '$.amount_out') AS DOUBLE)"
    found = dict(
        rows.sql(
            f"SELECT {rows.binned()}, max(abs({got} / nullif({recorded}, 0) - 1)) FROM actions WHERE run_id = {{run}}"
            " AND status = 'success' GROUP BY 1"
        )
    )
    values = [found.get(step) for step in rows.x.steps]
    known = [value for value in values if value is not None]
    if not known:
        return None
    return lines(
        f"No step differs by more than {percent(max(known))}"
        if max(known)
        else "Every trade gives the recorded amount",
        f"Largest relative difference of received from recorded amount in a step; {rows.sample}.",
        rows.x,
        [Line("difference", values, markers=True)],
        Axis("difference", "percent", zero=True),
        source="Trades of the run and their record (table actions).",
    )


def summary(rows: RunRows) -> tuple[str, ...]:
    """What was replayed, how close it is, and what happened to the price."""
    worst = rows.kpi("largest_difference_from_record") or 0.0
    sentences = [
        f"{plural(rows.kpi('trades_on_record'), 'recorded trade')} are sent to the pool's real code in"
        f" {plural(rows.run.steps, 'step')}; the received amounts differ from the record by at most"
        f" {exact(worst * 100)} %."
    ]
    for of, _, share in price_moves(rows)[:1]:
        sentences.append(f"{moved_pair(of, share)} from the first to the last step.")
    for _, pair, sold, received, _ in sellers(rows)[:2]:
        token, _, quote = pair.partition("/")
        if sold and received is not None:
            sentences.append(f"Sold: {short(sold)} {token} for {short(received)} {quote}.")
    return tuple(sentences)


SHAPE = Shape("launch", matches, answer)
