"""Many borrowers under stress: liquidations, and the debt that goes bad."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import change, usd
from mayavi.report.page import Chart, Tile, Tone, Verdict
from mayavi.report.run.lending import debt_section, deficit_tile, rates_section, realised_losses, unit_of, value_axis
from mayavi.report.run.liquidations import DONE, liquidation_section
from mayavi.report.run.pools import pool_section
from mayavi.report.run.prices import price_section
from mayavi.report.run.rows import detail
from mayavi.report.run.trading import sales_section
from mayavi.report.run.vaults import vault_section
from mayavi.report.run.words import (
    after_gas,
    counted,
    ended,
    kpi_tile,
    money,
    moved_most,
    one_seed,
    plural,
    price_moves,
)
from mayavi.report.shapes.shape import Answer, Shape

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows

_CENT = 0.01
"""Sums of floats differ by less."""


def matches(rows: RunRows) -> bool:
    """Whether the run has more than one borrowing account."""
    return max((value or 0 for value in rows.total("accounts")), default=0) > 1


def answer(rows: RunRows) -> Answer:
    """Compose the page of a cascade."""
    return Answer(
        ended(rows, verdict(rows)),
        tiles(rows),
        summary(rows),
        hero(rows),
        (
            liquidation_section(rows),
            vault_section(rows),
            debt_section(rows),
            price_section(rows),
            pool_section(rows),
            rates_section(rows),
            sales_section(rows),
        ),
    )


def verdict(rows: RunRows) -> Verdict:
    """Say how much debt goes bad, or that none does."""
    bad, liquidated = rows.kpi("bad_debt") or 0.0, rows.kpi("liquidated") or 0.0
    unit = unit_of(rows)
    cause = moved_most(rows)
    if bad > 0:
        accounts = plural(rows.kpi("bad_debt_accounts"), "account")
        return Verdict(
            f"{cause}, and {money(bad, unit)} of debt in {accounts} goes bad.", "BAD DEBT", "bad", one_seed(rows)
        )
    if liquidated > 0:
        accounts = plural(rows.kpi("liquidated_accounts"), "account")
        sentence = f"{cause}; {money(liquidated, unit)} of debt in {accounts} is liquidated, and none goes bad."
        return Verdict(sentence, "NO BAD DEBT", "good", one_seed(rows))
    return Verdict(f"{cause}; no account is liquidated and no debt goes bad.", "NO LOSS", "good", one_seed(rows))


def tiles(rows: RunRows) -> tuple[Tile, ...]:
    """Bad debt and deficit, liquidated debt, accounts, profit of liquidators, the largest price move."""
    unit = unit_of(rows)
    bad = rows.kpi("bad_debt") or 0.0
    debt = next((value for value in rows.total("debt") if value), None)
    before = rows.kpi("liquidator_profit_before_gas")
    earned = "gas is free in this run" if rows.gas_is_free else f"{money(before, unit)} before gas"
    if before is None:
        earned = ""
    of_debt = f"{change(bad / debt).lstrip('+')} of the debt at the start" if debt and bad else ""
    accounts = next((value for value in rows.total("accounts") if value), None)
    deficit = deficit_tile(rows)
    found = [
        kpi_tile(rows, "bad_debt", "Bad debt", tone="bad" if bad > 0 else "plain", change=of_debt),
        *([deficit] if deficit else []),
        kpi_tile(rows, "liquidated", "Liquidated debt", change=counted(rows.kpi("liquidations"), "liquidation")),
        kpi_tile(
            rows,
            "liquidated_accounts",
            "Liquidated accounts",
            change=f"of {accounts:,.0f}" if accounts else "",
        ),
        kpi_tile(
            rows,
            "liquidator_profit",
            "Profit of liquidators",
            change=earned,
        ),
    ]
    if share := _share_price(rows):
        found.append(share)
    elif not deficit:
        found.append(kpi_tile(rows, "liquidatable_accounts", "Still liquidatable", change="at the end"))
    moves = [name for name in rows.kpis if name.startswith("oracle_change.")]
    if moves:
        largest = max(moves, key=lambda name: (abs(rows.kpis[name].number), name))
        found.append(kpi_tile(rows, largest, f"{largest.partition('.')[2]} at the oracle", change="start to end"))
    return tuple(found)


def _share_price(rows: RunRows) -> Tile | None:
    """What depositors of the vault that lost most lose; None without a vault."""
    vaults = [name for name in rows.kpis if name.startswith("share_price_change.")]
    if not vaults:
        return None
    worst = min(vaults, key=lambda name: (rows.kpis[name].number, name))
    tone: Tone = "bad" if rows.kpis[worst].number < 0 else "plain"
    return kpi_tile(rows, worst, f"A share of {worst.partition('.')[2]}", change="start to end", tone=tone)


def hero(rows: RunRows) -> Chart | None:
    """Liquidated debt since the start and bad debt, over time."""
    realised = realised_losses(rows)
    bad = rows.total("bad_debt")
    if any(realised):
        bad = [(value or 0.0) + (lost or 0.0) for value, lost in zip(bad, realised, strict=True)]
    covered = rows.summed(detail("covered_e8"), DONE, cumulative=True)
    if not rows.timeline or not bad:
        return None
    unit = unit_of(rows)
    first = next((index for index, value in enumerate(bad) if value), None)
    if first is not None:
        title = f"Bad debt appears {_when(rows, first)}and ends at {money(bad[-1], unit)}"
    elif covered and covered[-1]:
        title = f"Liquidators cover {money(covered[-1], unit)} in time: no bad debt"
    else:
        title = "No debt is liquidated and none goes bad"
    return lines(
        title,
        f"Debt covered by liquidators since the start, and bad debt at the end of each step; {rows.sample}, one seed.",
        rows.x,
        [
            Line("liquidated", covered, step=True, colour="$1", dash="solid"),
            Line("bad debt", bad, step=True, fill=True, colour="$2", dash="solid"),
        ],
        value_axis(rows),
        height=340,
        source="Liquidations (table actions) and market figures (table market_snapshots). Click a point for its step.",
        wide=True,
    )


def summary(rows: RunRows) -> tuple[str, ...]:
    """Three or four sentences: the shock, the liquidations, what is left, and who profits."""
    unit = unit_of(rows)
    sentences = []
    accounts = next((value for value in rows.total("accounts") if value), 0)
    start = next((value for value in rows.total("debt") if value), None)
    sentences.append(
        f"{plural(accounts, 'account')} owe {money(start, unit)} at the start of {plural(rows.run.steps, 'step')}."
        f" {moved_most(rows)}{' from start to end' if price_moves(rows) else ''}."
    )
    if rows.kpi("liquidations"):
        failed = rows.kpi("liquidations_failed") or 0
        sentences.append(
            f"Liquidators cover {money(rows.kpi('liquidated'), unit)} of debt in "
            f"{plural(rows.kpi('liquidated_accounts'), 'account')} by {plural(rows.kpi('liquidations'), 'liquidation')}"
            f" ({plural(failed, 'attempt')} failed), and earn"
            f" {money(rows.kpi('liquidator_profit'), unit)}{after_gas(rows)}."
        )
    sentences += _ending(rows)
    if rows.kpi("arbitrages") and (profit := rows.kpi("arbitrage_profit") or 0.0) > 0:
        sentences.append(
            f"Arbitrageurs earn {usd(profit)} by {plural(rows.kpi('arbitrages'), 'trade')} that move the pools to the"
            " outside price. The pools' liquidity providers pay for it; it is no part of the bad debt."
        )
    return tuple(sentences)


def _ending(rows: RunRows) -> list[str]:
    """Say what became of debt without collateral, and what stands at the end."""
    unit, bad, deficit = unit_of(rows), rows.kpi("bad_debt") or 0.0, rows.kpi("deficit") or 0.0
    borne = max(0.0, ((realised_losses(rows) or [0.0])[-1] or 0.0) - deficit)
    sentences = []
    if deficit:
        sentences.append(f"Aave burns {money(deficit, unit)} of debt without collateral: a deficit of its reserves.")
    if borne > _CENT:
        sentences.append(f"Suppliers bear {money(borne, unit)} of debt without collateral.")
    owed = bad - deficit - borne
    rounding = _CENT if sentences else 0.0
    accounts = "" if sentences else f" in {counted(rows.kpi('bad_debt_accounts'), 'account')}"
    uncovered = f"{money(owed, unit)} of debt{accounts} has no collateral left; " if owed > rounding else ""
    left = rows.kpi("liquidatable_accounts") or 0
    waiting = f" {plural(left, 'account')} can still be liquidated." if left else ""
    stands = f"{money(rows.kpi('debt'), unit)} of debt stands against {money(rows.kpi('collateral'), unit)}"
    return [*sentences, f"At the end {uncovered}{stands} of collateral.{waiting}"]


def _when(rows: RunRows, index: int) -> str:
    """Say how far the price that moves most has moved when bad debt appears."""
    moves = [of for of, kind, _ in price_moves(rows) if kind == "oracle_change"]
    for token in moves[:1]:
        subject = next(
            (each for each in rows.subjects if each.endswith(f".{token}") and "price" in rows.subjects[each]), ""
        )
        prices = rows.series(subject, "price") if subject else []
        if prices and prices[0] and prices[index] is not None:
            share = (prices[index] or 0.0) / prices[0] - 1
            return f"when {token} is at {change(share)} "
    return f"in step {rows.timeline[index][0]} "


SHAPE = Shape("cascade", matches, answer)
