"""Sales, releases and volumes: who sold what, when and at which price."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.report.charts.axes import Axis
from mayavi.report.charts.bars import Bar, columns_over
from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import short, usd
from mayavi.report.page import Block, Chart, Column, Section, Table
from mayavi.report.run.rows import detail
from mayavi.report.run.words import plural
from mayavi.sim.store.database.schema import literal

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows

TOKEN_SOLD = "coalesce(json_extract_string(details, '$.token_in'), json_extract_string(details, '$.token'))"
AMOUNT_SOLD = (
    "coalesce(TRY_CAST(json_extract_string(details, '$.amount_in') AS DOUBLE),"
    " TRY_CAST(json_extract_string(details, '$.sold') AS DOUBLE))"
)


def sellers(rows: RunRows) -> list[tuple[str, str, float | None, float | None, float | None]]:
    """Who sold: (agent, pair, sold, received, average price), from the KPIs."""
    found = []
    for name, row in rows.kpis.items():
        if not name.startswith("sold."):
            continue
        agent, _, token = name.removeprefix("sold.").rpartition(".")
        price = next(
            (
                (each.partition("/")[2], rows.kpis[each].number)
                for each in rows.kpis
                if each.startswith(f"average_price.{agent}.{token}/")
            ),
            ("", None),
        )
        received = rows.kpi(f"proceeds.{agent}.{price[0]}") if price[0] else None
        found.append((agent, f"{token}/{price[0]}" if price[0] else token, row.number, received, price[1]))
    return sorted(found, key=lambda each: (each[1], -(each[2] or 0.0), each[0]))


def sales_section(rows: RunRows) -> Section | None:
    """Sales by seller: table, cumulative sales, and the volume of other trades."""
    found = sellers(rows)
    blocks: list[Block] = [
        chart for chart in (cumulative_sales(rows), volume_chart(rows), arbitrage_chart(rows)) if chart
    ]
    if found:
        blocks.append(
            Table(
                (
                    Column("seller"),
                    Column("pair"),
                    Column("sold", "number"),
                    Column("received", "number"),
                    Column("average price", "number"),
                ),
                tuple(found),
                "What each seller got",
                note="KPIs sold, proceeds and average_price of the run.",
            )
        )
    return Section("sales", "Sales and trades", tuple(blocks)) if blocks else None


def cumulative_sales(rows: RunRows) -> Chart | None:
    """Cumulative amount sold by agent, of the token that is sold most often."""
    pairs = rows.sql(
        f"SELECT {TOKEN_SOLD} AS token, agent, count(*) AS n FROM actions WHERE run_id = {{run}} AND kind = 'sell'"
        " AND status = 'success' GROUP BY 1, 2 ORDER BY n DESC, 1, 2"
    )
    if not pairs or pairs[0][0] is None:
        return None
    token = pairs[0][0]
    scale = f"1e{rows.decimals.get(token, 0)}"
    named = [agent for each, agent, _ in pairs if each == token][:5]
    series = []
    for agent in named:
        where = f"kind = 'sell' AND status = 'success' AND agent = {literal(agent)} AND {TOKEN_SOLD} = {literal(token)}"
        series.append(Line(agent, rows.summed(f"{AMOUNT_SOLD} / {scale}", where, cumulative=True), step=True))
    largest = max(series, key=lambda line: (line.values[-1] or 0.0, line.label))
    return lines(
        f"{short(largest.values[-1])} {token} sold by {largest.label}" + (", the most" if len(series) > 1 else ""),
        f"{token} sold since the start, by {plural(len(series), 'seller')}; {rows.sample}.",
        rows.x,
        series,
        Axis(token, "short", zero=True),
        source="Table actions: successful sales.",
    )


def volume_chart(rows: RunRows) -> Chart | None:
    """Number of trades by direction: buys, sells and noise trades."""
    kinds = [
        kind
        for (kind,) in rows.sql(
            "SELECT kind FROM actions WHERE run_id = {run} AND status = 'success'"
            " AND kind IN ('buy', 'sell', 'trade', 'arbitrage') GROUP BY kind ORDER BY count(*) DESC, kind"
        )
    ]
    if not kinds:
        return None
    series = [Bar(kind, rows.summed("1", f"status = 'success' AND kind = {literal(kind)}")) for kind in kinds]
    total = sum(value or 0.0 for bar in series for value in bar.values)
    counts = [f"{sum(value or 0.0 for value in bar.values):,.0f} {bar.label}" for bar in series]
    return columns_over(
        f"{total:,.0f} trades: {', '.join(counts)}" if len(kinds) > 1 else f"{total:,.0f} {kinds[0]}s",
        f"Number of successful trades in a step; {rows.sample}. Click a bar for its actions.",
        rows.x,
        series,
        Axis("trades", "count", zero=True),
        source="Table actions.",
    )


def arbitrage_chart(rows: RunRows) -> Chart | None:
    """Cumulative profit of arbitrageurs before gas."""
    found = rows.sql(
        f"SELECT agent, sum({detail('profit_e8')}) AS profit FROM actions WHERE run_id = {{run}} AND kind = 'arbitrage'"
        " AND status = 'success' GROUP BY agent HAVING profit IS NOT NULL ORDER BY profit DESC, agent LIMIT 5"
    )
    if not found:
        return None
    series = [
        Line(
            agent,
            rows.summed(
                detail("profit_e8"),
                f"kind = 'arbitrage' AND status = 'success' AND agent = {literal(agent)}",
                cumulative=True,
            ),
            step=True,
        )
        for agent, _ in found
    ]
    return lines(
        f"{found[0][0]} earns {usd(found[0][1])} by arbitrage",
        f"Cumulative profit of arbitrageurs before gas; {rows.sample}.",
        rows.x,
        series,
        Axis("", "usd", zero=True),
        source="Table actions: profit_e8 of arbitrages.",
    )


def release_chart(rows: RunRows) -> Chart | None:
    """Tokens released from vesting wallets, cumulative."""
    found = rows.sql(
        "SELECT json_extract_string(details, '$.token') AS token, agent, count(*) FROM actions WHERE run_id = {run}"
        " AND kind = 'release' AND status = 'success' GROUP BY 1, 2 ORDER BY 3 DESC, 2 LIMIT 5"
    )
    if not found or found[0][0] is None:
        return None
    token = found[0][0]
    scale = f"1e{rows.decimals.get(token, 0)}"
    series = [
        Line(
            agent,
            rows.summed(
                detail("released", scale),
                f"kind = 'release' AND status = 'success' AND agent = {literal(agent)}",
                cumulative=True,
            ),
            step=True,
        )
        for each, agent, _ in found
        if each == token
    ]
    total = sum(line.values[-1] or 0.0 for line in series)
    return lines(
        f"{short(total)} {token} leave the vesting wallets",
        f"{token} released since the start, by {plural(len(series), 'recipient')}; {rows.sample}.",
        rows.x,
        series,
        Axis(token, "short", zero=True),
        source="Table actions: released of successful releases.",
    )
