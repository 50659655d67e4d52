"""Lending markets and borrowers: health factors, debt, bad debt, utilisation and rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.report.charts.areas import stacked_areas
from mayavi.report.charts.axes import Axis
from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import change, percent
from mayavi.report.page import Block, Chart, Section
from mayavi.report.run.words import money, plural

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows

CLASSES = (
    ("below 1: can be liquidated", "health_factor_below_1", "$2"),
    ("1 to 1.1", "health_factor_below_1_10", "$5"),
    ("1.1 to 1.5", "health_factor_below_1_50", "$1/80"),
    ("1.5 to 2", "health_factor_below_2", "$1/45"),
    ("2 and above", "accounts_with_debt", "$1/18"),
)
"""Classes of health factors: label, the count of accounts below the upper bound, colour."""


def unit_of(rows: RunRows) -> str:
    """The unit in which the lending KPIs of a run count: `usd_e8` or `eth_e8`."""
    row = rows.kpis.get("bad_debt") or rows.kpis.get("debt")
    return row.unit if row else "usd_e8"


def value_axis(rows: RunRows, *, zero: bool = True) -> Axis:
    """The axis for amounts of debt and collateral."""
    dollars = unit_of(rows) == "usd_e8"
    return Axis("" if dollars else "ETH", "usd" if dollars else "short", zero=zero)


def debt_section(rows: RunRows) -> Section | None:
    """Health factors, debt and collateral, bad debt of all groups of accounts."""
    if not rows.populations:
        return None
    charts: list[Block] = [chart for chart in (health_chart(rows), debt_chart(rows), bad_debt_chart(rows)) if chart]
    return Section("accounts", "Accounts over time", tuple(charts), "All borrowing accounts of the scenario together.")


def health_chart(rows: RunRows) -> Chart | None:
    """Accounts by class of health factor: a stacked area, or for one account its health factor."""
    accounts = max((value or 0 for value in rows.total("accounts")), default=0)
    if accounts <= 1:
        return single_health(rows)
    below: list[list[float | None]] = [rows.total(metric) for _, metric, _ in CLASSES]
    if not any(below[-1]) or not all(any(value is not None for value in counts) for counts in below):
        return None
    classes = []
    for index, (label, _, colour) in enumerate(CLASSES):
        lower = below[index - 1] if index else [0.0] * len(below[0])
        counts = [None if a is None or b is None else a - b for a, b in zip(below[index], lower, strict=True)]
        classes.append((label, counts, colour))
    worst = max((value or 0 for value in below[0]), default=0)
    step = next((at for at, value in zip(rows.x.steps, below[0], strict=True) if value == worst), None)
    title = (
        f"At worst {plural(worst, 'account')} of {accounts:,.0f} can be liquidated, after step {step}"
        if worst
        else f"No account of {accounts:,.0f} ends a step below a health factor of 1"
    )
    return stacked_areas(
        title,
        f"Accounts with debt by health factor at the end of each step; {rows.sample}.",
        rows.x,
        classes,
        Axis("accounts", "count", zero=True),
        source="Table market_snapshots, metrics health_factor_below_… of each group of accounts.",
    )


def single_health(rows: RunRows, *, wide: bool = False) -> Chart | None:
    """The health factor of the only account."""
    subject = rows.populations[0] if rows.populations else ""
    values = rows.series(subject, "health_factor_lowest")
    known = [(value, step) for value, step in zip(values, rows.x.steps, strict=True) if value is not None]
    if not known:
        return None
    low, step = min(known)
    closed = values[-1] is None
    end = ", then the loan is closed" if closed else f", and is {known[-1][0]:.3g} at the end"
    distance = (
        f"; collateral may lose another {percent(1 - 1 / known[-1][0])}" if not closed and known[-1][0] > 1 else ""
    )
    return lines(
        f"The health factor falls to {low:.3g} by the end of step {step}{end}",
        f"Health factor of {subject} at the end of each step; below 1 anyone may liquidate{distance}; {rows.sample}.",
        rows.x,
        [Line("health factor", values, markers=len(known) < 30)],
        Axis("health factor", ".3~f"),
        marks=[(1.0, "liquidation below 1")],
        source="Table market_snapshots, metric health_factor_lowest.",
        wide=wide,
    )


def debt_chart(rows: RunRows) -> Chart | None:
    """Collateral and debt of all accounts."""
    collateral, debt = rows.total("collateral"), rows.total("debt")
    ends = [next((value for value in order(debt) if value), None) for order in (iter, reversed)]
    if ends[0] is None or ends[1] is None:
        return None
    share = (debt[-1] or 0.0) / ends[0] - 1
    unit = unit_of(rows)
    title = f"Debt ends at {money(debt[-1], unit)}, {change(share)} from {money(ends[0], unit)} at the start"
    return lines(
        title,
        f"Collateral and debt of all accounts at the oracle's prices; {rows.sample}.",
        rows.x,
        [Line("collateral", collateral), Line("debt", debt)],
        value_axis(rows),
        source="Table market_snapshots, metrics collateral and debt.",
    )


def bad_debt_chart(rows: RunRows) -> Chart | None:
    """Bad debt at the end of each step; None if there never was any."""
    values = rows.total("bad_debt")
    if not any(values):
        return None
    first = next(step for step, value in zip(rows.x.steps, values, strict=True) if value)
    end = money(values[-1], unit_of(rows))
    return lines(
        f"Bad debt appears in step {first} and is {end} at the end",
        f"Debt that the accounts' collateral does not cover, at the oracle's prices; {rows.sample}.",
        rows.x,
        [Line("bad debt", values, step=True, fill=True, colour="$2", dash="solid")],
        value_axis(rows),
        source="Table market_snapshots, metric bad_debt.",
    )


def rates_section(rows: RunRows) -> Section | None:
    """Utilisation and borrow rates of the reserves, and what the markets hold."""
    reserves = [subject for subject, metrics in rows.subjects.items() if "utilisation" in metrics]
    charts: list[Block] = []
    for metric, what, title in (
        ("utilisation", "Share of a reserve that is lent out", "Utilisation"),
        ("borrow_rate", "Yearly variable borrow rate", "Borrow rate"),
    ):
        series = [(subject, rows.series(subject, metric)) for subject in reserves]
        known = [(name, [v for v in values if v is not None]) for name, values in series]
        ranked = sorted(((max(v) - min(v), name, v) for name, v in known if v), key=lambda each: (-each[0], each[1]))
        if not ranked:
            continue
        kept = {name for _, name, _ in ranked[:5]}
        most, name, values = ranked[0]
        finding = (
            f"{title} of {name} moves most: {percent(min(values))} to {percent(max(values))}"
            if percent(min(values)) != percent(max(values)) and most > 5e-4
            else f"{title} hardly moves: {name} stays at {percent(values[-1])}"
        )
        drawn = [Line(subject, points) for subject, points in series if subject in kept]
        charts.append(
            lines(
                finding, f"{what}, of {_of(len(kept), len(ranked))}; {rows.sample}.", rows.x, drawn, Axis("", "percent")
            )
        )
    return Section("rates", "Utilisation and rates", tuple(charts)) if charts else None


def _of(kept: int, all_of: int) -> str:
    return f"the {kept} reserves that move most of {all_of}" if kept < all_of else plural(kept, "reserve")
