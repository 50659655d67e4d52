"""Depth of pools: what they hold, and their active liquidity against the start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.report.charts.axes import Axis
from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import percent, short, usd
from mayavi.report.page import Block, Section

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows

MOST_POOLS = 4


def pool_section(rows: RunRows) -> Section | None:
    """Depth charts of every pool of the run."""
    blocks: list[Block] = []
    pools = [subject for subject, metrics in rows.subjects.items() if any(m.startswith("balance_") for m in metrics)]
    for pool in pools[:MOST_POOLS]:
        blocks += _balances(rows, pool)
    blocks += _liquidity(rows, [pool for pool in pools if "liquidity" in rows.subjects[pool]])
    blocks += _value(rows, [pool for pool in pools if "tvl" in rows.subjects[pool]])
    if not blocks:
        return None
    lead = "What the pools can absorb. Quotes by trade size are not recorded in a run."
    return Section("depth", "Depth of the pools", tuple(blocks), lead)


def _balances(rows: RunRows, pool: str) -> list[Block]:
    """Tokens in a pool, in percent of the start: tokens of different size share an axis."""
    series = []
    ends: list[tuple[str, float]] = []
    for metric in sorted(each for each in rows.subjects[pool] if each.startswith("balance_")):
        values = rows.series(pool, metric)
        first = next((value for value in values if value), None)
        if first is None:
            continue
        token = metric.removeprefix("balance_")
        series.append(Line(token, [None if value is None else value / first for value in values]))
        last = next(value for value in reversed(values) if value is not None)
        ends.append((token, last / first - 1))
    if not series or all(abs(share) < 5e-5 for _, share in ends):
        return []
    token, share = min(ends, key=lambda each: each[1])
    name = pool.partition(".")[2] or pool
    return [
        lines(
            f"{name} ends with {percent(1 + share)} of the {token} it started with",
            f"Tokens in the pool, as a share of what it held before the first step; {rows.sample}.",
            rows.x,
            series,
            Axis("", "percent", zero=True),
            source=f"Market figures of {pool} (table market_snapshots).",
        )
    ]


def _liquidity(rows: RunRows, pools: list[str]) -> list[Block]:
    series, lows = [], []
    for pool in pools[:5]:
        values = rows.series(pool, "liquidity")
        first = next((value for value in values if value), None)
        if first is None:
            continue
        shares = [None if value is None else value / first for value in values]
        name = pool.partition(".")[2]
        series.append(Line(name, shares, step=True))
        lows.append((min(share for share in shares if share is not None) - 1, name))
    if not series or all(abs(low) < 1e-9 for low, _ in lows):
        return []
    low, name = min(lows)
    return [
        lines(
            f"Active liquidity of {name} falls by up to {short(-low * 100)} %",
            f"Liquidity at the current price, as a share of the start; {rows.sample}.",
            rows.x,
            series,
            Axis("", "percent", zero=True),
            source="Market figures of the run (table market_snapshots).",
        )
    ]


def _value(rows: RunRows, pools: list[str]) -> list[Block]:
    series = [Line(pool.partition(".")[2] or pool, rows.series(pool, "tvl")) for pool in pools[:5]]
    known = [line for line in series if any(line.values)]
    if not known:
        return []
    first = known[0]
    start, end = (next((v for v in order(first.values) if v is not None), None) for order in (iter, reversed))
    return [
        lines(
            f"{first.label} holds {usd(start)} at the start and {usd(end)} at the end",
            f"Value of the tokens in a pool at the oracle's prices; {rows.sample}.",
            rows.x,
            known,
            Axis("", "usd", zero=True),
            source="Market figures of the run (table market_snapshots).",
        )
    ]
