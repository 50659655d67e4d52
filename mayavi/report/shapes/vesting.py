"""Unlocks sold into a pool: what sellers got, and what it did to the price."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.report.numbers import change, exact, short
from mayavi.report.page import Chart, Section, Tile, Verdict
from mayavi.report.run.pools import pool_section
from mayavi.report.run.prices import price_chart, price_section, quoted
from mayavi.report.run.rows import detail
from mayavi.report.run.trading import release_chart, sales_section, sellers
from mayavi.report.run.words import ended, kpi_tile, moved_pair, one_seed, plural, price_moves
from mayavi.report.shapes.shape import Answer, Shape
from mayavi.sim.store.database.schema import literal

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows


def matches(rows: RunRows) -> bool:
    """Whether tokens were released from a vesting wallet."""
    return bool(rows.sql("SELECT 1 FROM actions WHERE run_id = {run} AND kind = 'release' LIMIT 1"))


def answer(rows: RunRows) -> Answer:
    """Compose the page of an unlock."""
    released = release_chart(rows)
    releases = Section("releases", "Releases", (released,)) if released else None
    return Answer(
        ended(rows, verdict(rows)),
        tiles(rows),
        summary(rows),
        hero(rows),
        (sales_section(rows), releases, pool_section(rows), price_section(rows)),
    )


def verdict(rows: RunRows) -> Verdict:
    """Say what sellers received on average, and how far the price fell."""
    found = [each for each in sellers(rows) if each[2]]
    moves = price_moves(rows)
    fall = moves[0][2] if moves else 0.0
    what = moved_pair(moves[0][0], fall) if moves else "no price is recorded"
    if not found:
        return Verdict(f"Nothing is sold; {what}.", "NO SALES", "plain", one_seed(rows))
    token, _, quote = found[0][1].partition("/")
    sold = sum(each[2] or 0.0 for each in found if each[1] == found[0][1])
    got = sum(each[3] or 0.0 for each in found if each[1] == found[0][1])
    others = other_trades(rows, token)[0]
    between = f". With {plural(others, 'trade')} of others, " if others else ", and "
    sentence = f"Selling {short(sold)} {token} brings {short(got)} {quote}, {short(got / sold)} each{between}{what}."
    return Verdict(sentence, "PRICE IMPACT", "warn" if fall < -0.05 else "plain", one_seed(rows))


def tiles(rows: RunRows) -> tuple[Tile, ...]:
    """Price impact, sold and received, average price of each seller."""
    found = []
    impact = [name for name in rows.kpis if name.startswith(("price_impact.", "pool_change."))]
    for name in impact[:1]:
        tone = "bad" if rows.kpis[name].number < -0.05 else "plain"
        found.append(kpi_tile(rows, name, f"Price of {name.partition('.')[2]}", change="start to end", tone=tone))  # type: ignore[arg-type]
    found += depth_tile(rows)
    for agent, pair, _, _, _ in sellers(rows)[:3]:
        token, _, quote = pair.partition("/")
        found.append(kpi_tile(rows, f"sold.{agent}.{token}", f"Sold by {agent}", unit=token))
        if quote:
            found.append(kpi_tile(rows, f"average_price.{agent}.{pair}", f"Average price, {agent}", unit=quote))
    return tuple(found[:6])


def depth_tile(rows: RunRows) -> list[Tile]:
    """What the pool that moves most holds of the token that sellers are paid in, before the first step."""
    for of, kind, _ in price_moves(rows):
        if kind not in {"price_impact", "pool_change"}:
            continue
        pool = next((subject for subject in rows.subjects if subject.partition(".")[2] == of), "")
        quote = of.partition("/")[2].rpartition(".")[0]
        query = (
            f"SELECT number FROM market_snapshots WHERE run_id = {{run}} AND subject = {literal(pool)}"
            f" AND metric = {literal(f'balance_{quote}')} ORDER BY step LIMIT 1"
        )
        if found := rows.sql(query):
            number, label = float(found[0][0]), f"{quote} in the pool"
            return [
                Tile(
                    label,
                    short(number),
                    unit=quote,
                    change="at the start",
                    exact=exact(number),
                    source=rows.written(query),
                )
            ]
    return []


def other_trades(rows: RunRows, token: str) -> tuple[int, float]:
    """Trades of a token by others than the sellers: their number, and what they sold of it net of what they bought."""
    scale = f"1e{rows.decimals.get(token, 0)}"
    into, out_of = (f"json_extract_string(details, '$.token_{side}') = {literal(token)}" for side in ("in", "out"))
    ((trades, net),) = rows.sql(
        f"SELECT count(*), coalesce(sum(CASE WHEN {into} THEN {detail('amount_in', scale)}"
        f" ELSE -{detail('amount_out', scale)} END), 0) FROM actions WHERE run_id = {{run}} AND status = 'success'"
        f" AND kind NOT IN ('sell', 'release') AND ({into} OR {out_of})"
    )
    return int(trades), float(net)


def hero(rows: RunRows) -> Chart | None:
    """The price of the sold token."""
    found = sellers(rows)
    token = found[0][1].partition("/")[0] if found else ""
    named = [quotes for quotes in quoted(rows) if quotes.token == token] or quoted(rows)
    return price_chart(rows, named[0], hero=True) if named else None


def summary(rows: RunRows) -> tuple[str, ...]:
    """Who sold how much at which price, and what happened to the pool."""
    sentences = []
    for of, _, share in price_moves(rows)[:1]:
        sentences.append(f"{moved_pair(of, share)} over {plural(rows.run.steps, 'step')}.")
    for agent, pair, sold, received, price in sellers(rows)[:4]:
        token, _, quote = pair.partition("/")
        if sold and received is not None and price is not None:
            sentences.append(
                f"Sold by {agent}: {sold:,.0f} {token} for {received:,.0f} {quote}, {short(price)} {quote} each."
            )
        else:
            sentences.append(f"Sold by {agent}: no {token}.")
    for token in dict.fromkeys(each[1].partition("/")[0] for each in sellers(rows)):
        others, net = other_trades(rows, token)
        if others:
            side = "buy" if net < 0 else "sell"
            sentences.append(
                f"{plural(others, 'trade')} of others, which {side} {short(abs(net))} {token} net, move the price too."
            )
    spread = [each[4] for each in sellers(rows) if each[4]]
    if len(spread) > 1:
        sentences.append(f"The worst average price is {change(min(spread) / max(spread) - 1)} from the best.")
    return tuple(sentences)


SHAPE = Shape("vesting", matches, answer)
