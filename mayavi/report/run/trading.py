"""Sales, releases and volumes: who sold what, when and at which price."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.report.charts.axes import Axis
from mayavi.report.charts.bars import Bar, columns_over
from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import percent, short, usd
from mayavi.report.page import Block, Chart, Column, Section, Table
from mayavi.report.run.rows import detail
from mayavi.report.run.words import plural
from mayavi.sim.store.database.schema import literal

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows

KINDS = {
    "trade": ("noise trade", "noise trades"),
    "buy": ("purchase", "purchases"),
    "sell": ("sale", "sales"),
    "arbitrage": ("arbitrage", "arbitrages"),
}
"""Kinds of trades in words, for one and for many."""
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
                note="KPIs of the run (table kpis).",
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
        source="Successful sales of the run (table actions).",
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
    series = [Bar(KINDS[kind][1], rows.summed("1", f"status = 'success' AND kind = {literal(kind)}")) for kind in kinds]
    total = sum(value or 0.0 for bar in series for value in bar.values)
    counts = [
        plural(sum(value or 0.0 for value in bar.values), *KINDS[kind]) for kind, bar in zip(kinds, series, strict=True)
    ]
    by_step = [sum(each or 0.0 for each in at) for at in zip(*(bar.values for bar in series), strict=True)]
    most, what = max(by_step), KINDS[kinds[0]][1] if len(kinds) == 1 else "trades"
    busiest = [step for step, value in zip(rows.x.steps, by_step, strict=True) if value == most]
    title = (
        f"Step {busiest[0]} is the busiest: {most:,.0f} of {total:,.0f} {what}"
        if len(busiest) == 1
        else f"No step has more than {most:,.0f} of the {total:,.0f} {what}"
    )
    return columns_over(
        title,
        f"Successful trades in a step: {', '.join(counts)}; {rows.sample}. Click a bar for its actions.",
        rows.x,
        series,
        Axis("trades", "count", zero=True),
        source="Actions of the run (table actions).",
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
    ((total,),) = rows.sql(
        f"SELECT sum({detail('profit_e8')}) FROM actions WHERE run_id = {{run}} AND kind = 'arbitrage'"
        " AND status = 'success'"
    )
    agent, most = found[0]
    if len(found) > 1:
        title = f"{agent} earns {usd(most)} of {usd(total)} by arbitrage"
    else:
        steps = rows.summed(detail("profit_e8"), "kind = 'arbitrage' AND status = 'success'")
        peak = max(value or 0.0 for value in steps)
        at = next(step for step, value in zip(rows.x.steps, steps, strict=True) if (value or 0.0) == peak)
        share = f", {percent(peak / total)} of it in step {at}" if total and total > 0 else ""
        title = f"{agent} earns {usd(most)} by arbitrage{share}"
    return lines(
        title,
        f"Cumulative profit of arbitrageurs{'' if rows.gas_is_free else ' before gas'}; {rows.sample}.",
        rows.x,
        series,
        Axis("", "usd", zero=True),
        source="Successful arbitrages of the run (table actions).",
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
        source="Successful releases of the run (table actions).",
    )
