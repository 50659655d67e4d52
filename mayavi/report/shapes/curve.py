"""A Curve pool under stress: how far its prices leave the peg, and who sold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.report.numbers import change, exact, usd
from mayavi.report.page import Chart, Tile, Verdict
from mayavi.report.run.lending import debt_section, rates_section
from mayavi.report.run.liquidations import liquidation_section
from mayavi.report.run.pools import pool_section
from mayavi.report.run.prices import first_coin, price_chart, price_section, quoted
from mayavi.report.run.trading import sales_section, sellers
from mayavi.report.run.words import ended, kpi_tile, one_seed, plural
from mayavi.report.shapes.shape import Answer, Shape

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows

LOST = 0.02
"""Distance from 1 above which a coin has lost its peg."""


def matches(rows: RunRows) -> bool:
    """Whether the run recorded a Curve pool."""
    return any(_prices(subject, metrics) for subject, metrics in rows.subjects.items())


def answer(rows: RunRows) -> Answer:
    """Compose the page of a Curve pool."""
    return Answer(
        ended(rows, verdict(rows)),
        tiles(rows),
        summary(rows),
        hero(rows),
        (
            price_section(rows),
            sales_section(rows),
            pool_section(rows),
            debt_section(rows),
            liquidation_section(rows),
            rates_section(rows),
        ),
    )


def worst(rows: RunRows) -> tuple[str, str, float, float]:
    """The coin that falls furthest in a Curve pool: (coin, pool, lowest, last)."""
    found = []
    for subject, metrics in rows.subjects.items():
        for metric in _prices(subject, metrics):
            values = [value for value in rows.series(subject, metric) if value is not None]
            if values:
                found.append((metric.removeprefix("price_"), subject, min(values), values[-1]))
    return min(found, key=lambda each: (each[2], each[0]), default=("no coin", "the pool", 1.0, 1.0))


def verdict(rows: RunRows) -> Verdict:
    """Say whether a coin lost its peg in the pool, and where it ends."""
    coin, pool, low, last = worst(rows)
    bad = rows.kpi("bad_debt") or 0.0
    tail = f"; {usd(bad)} of debt goes bad" if bad > 0 else "; no debt goes bad" if rows.populations else ""
    if abs(last - 1) > LOST or low < 1 - LOST:
        kept = abs(last - 1) <= LOST
        end = f"and ends at {exact(round(last, 4))}"
        sentence = f"{coin} falls to {exact(round(low, 4))} {_unit(rows, pool)} in {pool} {end}{tail}."
        return Verdict(sentence, "PEG REGAINED" if kept else "DEPEGGED", "warn" if kept else "bad", one_seed(rows))
    return Verdict(
        f"Every coin of {pool} stays within {LOST:.0%} of 1{tail}.".replace("%", " %"),
        "PEG HELD",
        "good",
        one_seed(rows),
    )


def tiles(rows: RunRows) -> tuple[Tile, ...]:
    """Prices at the end, sold amounts, arbitrage profit, bad debt."""
    found = []
    for name in rows.kpis:
        if name.startswith("price_") and "." in name:
            metric, _, pool = name.partition(".")
            values = [value for value in rows.series(pool, metric) if value is not None]
            low = f"lowest {exact(round(min(values), 4))}" if values else ""
            label = f"{metric.removeprefix('price_')} in {pool}"
            found.append(kpi_tile(rows, name, label, change=low, unit=_unit(rows, pool)))
    found += [
        kpi_tile(rows, f"sold.{agent}.{pair.partition('/')[0]}", f"Sold by {agent}", unit=pair.partition("/")[0])
        for agent, pair, _, _, _ in sellers(rows)[:2]
    ]
    if "arbitrage_profit" in rows.kpis:
        found.append(
            kpi_tile(rows, "arbitrage_profit", "Arbitrage profit", change=plural(rows.kpi("arbitrages"), "trade"))
        )
    if "bad_debt" in rows.kpis:
        found.append(kpi_tile(rows, "bad_debt", "Bad debt", tone="bad" if (rows.kpi("bad_debt") or 0) > 0 else "plain"))
    return tuple(found[:6])


def hero(rows: RunRows) -> Chart | None:
    """The price of the coin that falls furthest, in the pool and outside."""
    coin = worst(rows)[0]
    named = [quotes for quotes in quoted(rows) if quotes.token == coin]
    named.sort(key=lambda quotes: quotes.quote != "USD")
    return price_chart(rows, named[0], hero=True) if named else None


def summary(rows: RunRows) -> tuple[str, ...]:
    """What happened to the peg, who sold, what arbitrage earned, what borrowers lost."""
    coin, pool, low, last = worst(rows)
    sentences = [
        f"{coin} trades as low as {exact(round(low, 4))} {_unit(rows, pool)} in {pool}"
        f" during {plural(rows.run.steps, 'step')} and ends at {exact(round(last, 4))}."
    ]
    for agent, pair, sold, received, price in sellers(rows)[:3]:
        token, _, other = pair.partition("/")
        if sold and price is not None and received is not None:
            sentences.append(
                f"Sold by {agent}: {sold:,.0f} {token} for {received:,.0f} {other},"
                f" {change(price - 1)} from one for one."
            )
    if rows.kpi("arbitrages"):
        sentences.append(
            f"Arbitrageurs make {usd(rows.kpi('arbitrage_profit'))} in {plural(rows.kpi('arbitrages'), 'trade')}."
        )
    if rows.populations:
        liquidated, bad = rows.kpi("liquidated_accounts") or 0, rows.kpi("bad_debt") or 0.0
        accounts = f"{plural(liquidated, 'account')} liquidated" if liquidated else "No account is liquidated"
        sentences.append(f"{accounts}, and {usd(bad) if bad else 'no'} debt goes bad.")
    return tuple(sentences)


def _unit(rows: RunRows, pool: str) -> str:
    """The coin that the prices of a Curve pool are in."""
    return first_coin(rows.subjects.get(pool, set()))


def _prices(subject: str, metrics: set[str]) -> list[str]:
    return sorted(metric for metric in metrics if metric.startswith("price_")) if subject.startswith("Curve") else []


SHAPE = Shape("curve", matches, answer)
