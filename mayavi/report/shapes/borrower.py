"""One borrower: its health factor, and what is left of its collateral."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.report.numbers import DASH, change
from mayavi.report.page import Tile, Verdict
from mayavi.report.run.lending import LIQUIDATED_AT, debt_section, deficit_tile, rates_section, single_health, unit_of
from mayavi.report.run.liquidations import DONE, liquidation_section
from mayavi.report.run.pools import pool_section
from mayavi.report.run.prices import price_section
from mayavi.report.run.trading import sales_section
from mayavi.report.run.words import (
    after_gas,
    at_least,
    ended,
    kpi_tile,
    money,
    moved_most,
    one_seed,
    plural,
    price_moves,
)
from mayavi.report.shapes.shape import Answer, Shape
from mayavi.sim.store.database.schema import literal

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows


def matches(rows: RunRows) -> bool:
    """Whether the run has exactly one borrowing account."""
    return max((value or 0 for value in rows.total("accounts")), default=0) == 1


def answer(rows: RunRows) -> Answer:
    """Compose the page of a single borrower."""
    hero = single_health(rows, wide=True)
    return Answer(
        ended(rows, verdict(rows)),
        tiles(rows),
        summary(rows),
        hero,
        (
            price_section(rows),
            debt_section(rows),
            liquidation_section(rows) if rows.kpi("liquidations") else None,
            rates_section(rows),
            pool_section(rows),
            sales_section(rows),
        ),
    )


def verdict(rows: RunRows) -> Verdict:
    """Say whether the borrower was liquidated, and how close it came."""
    bad, unit, name = rows.kpi("bad_debt") or 0.0, unit_of(rows), rows.populations[0]
    cause = moved_most(rows)
    if bad > 0:
        return Verdict(f"{cause}, and {name} leaves {money(bad, unit)} of bad debt.", "BAD DEBT", "bad", one_seed(rows))
    if rows.kpi("liquidations"):
        covered = money(rows.kpi("liquidated"), unit)
        sentence = f"{cause}, and {name} is liquidated: {covered} of its debt is covered, none goes bad."
        return Verdict(sentence, "LIQUIDATED", "warn", one_seed(rows))
    low = _lowest(rows)
    if low is None:
        return Verdict(f"{name} has no debt in this run.", "NO LOAN", "plain", one_seed(rows))
    return Verdict(
        f"{cause}; the health factor of {name} stays at {at_least(low)} or above.", "SOLVENT", "good", one_seed(rows)
    )


def tiles(rows: RunRows) -> tuple[Tile, ...]:
    """Lowest health factor, debt, collateral, liquidated and bad debt, deficit."""
    query, deficit = _lowest_query(rows), deficit_tile(rows)
    low = _lowest(rows)
    lowest = Tile(
        "Lowest health factor",
        DASH if low is None else f"{low:.3g}",
        change="liquidation below 1",
        exact="" if low is None else str(low),
        source=query,
        tone="warn" if low is not None and low < 1.05 else "plain",
    )
    return (
        lowest,
        kpi_tile(rows, "debt", "Debt at the end"),
        kpi_tile(rows, "collateral", "Collateral at the end"),
        kpi_tile(rows, "liquidated", "Liquidated debt", change=plural(rows.kpi("liquidations") or 0, "liquidation")),
        kpi_tile(rows, "bad_debt", "Bad debt", tone="bad" if (rows.kpi("bad_debt") or 0) > 0 else "plain"),
        *([deficit] if deficit else []),
    )


def summary(rows: RunRows) -> tuple[str, ...]:
    """What the borrower did, what prices did, how it ended."""
    unit, name = unit_of(rows), rows.populations[0]
    peak = max((value or 0.0 for value in rows.total("debt")), default=0.0)
    sentences = [
        f"The account {name} borrows up to {money(peak, unit)} over {plural(rows.run.steps, 'step')}."
        f" {moved_most(rows)}{' from start to end' if price_moves(rows) else ''}."
    ]
    low = _lowest(rows)
    if low is not None:
        sentences.append(f"Its lowest recorded health factor is {low:.4g}; below 1 anyone may liquidate it.")
    if rows.kpi("liquidations"):
        sentences.append(
            f"Liquidators cover {money(rows.kpi('liquidated'), unit)} and earn"
            f" {money(rows.kpi('liquidator_profit'), unit)}{after_gas(rows)}."
        )
    debt, collateral = rows.kpi("debt"), rows.kpi("collateral")
    if debt is not None and collateral is not None:
        ratio = f", {change(debt / collateral).lstrip('+')} of its collateral" if collateral else ""
        sentences.append(f"At the end it owes {money(debt, unit)}{ratio}.")
    return tuple(sentences)


def _lowest_query(rows: RunRows) -> str:
    """SQL for the lowest health factor: at the ends of steps, and when it was liquidated."""
    return rows.written(
        "SELECT min(number) FROM (SELECT number FROM market_snapshots WHERE run_id = {run}"
        f" AND subject = {literal(rows.populations[0])} AND metric = 'health_factor_lowest'"
        f" UNION ALL SELECT {LIQUIDATED_AT} FROM actions WHERE run_id = {{run}} AND {DONE})"
    )


def _lowest(rows: RunRows) -> float | None:
    ((low,),) = rows.sql(_lowest_query(rows))
    return None if low is None else float(low)


SHAPE = Shape("borrower", matches, answer)
