"""Lending markets and borrowers: health factors, debt, bad debt, utilisation and rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.report.charts.areas import stacked_areas
from mayavi.report.charts.axes import Axis
from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import change, percent
from mayavi.report.page import Block, Chart, Section, Tile
from mayavi.report.run.rows import detail
from mayavi.report.run.words import kpi_tile, money, plural
from mayavi.worlds.tables.paths import chain_names, market_names

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows

STRANDED = "no collateral left: bad debt"
LIQUIDATED = "kind IN ('liquidate', 'absorb') AND status = 'success'"
"""Liquidations that succeeded."""
DEFICIT = "debt that Aave burnt and counts against the reserve"
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


def deficit_tile(rows: RunRows) -> Tile | None:
    """Debt that Aave burnt; None if there is none, or the pool's version leaves it where it is."""
    if not rows.kpi("deficit"):
        return None
    return kpi_tile(rows, "deficit", "Deficit", tone="bad", change=DEFICIT)


def realised_losses(rows: RunRows) -> list[float | None]:
    """Bad debt that is owed no longer, since the start: Morpho's suppliers bore it, or Aave burnt it."""
    lost = f"coalesce({detail('bad_debt_e8')}, 0) + coalesce({detail('deficit_e8')}, 0)"
    return rows.summed(lost, LIQUIDATED, cumulative=True)


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
    classes: list[tuple[str, list[float | None], str]] = []
    for index, (label, _, colour) in enumerate(CLASSES):
        lower = below[index - 1] if index else [0.0] * len(below[0])
        counts = [None if a is None or b is None else a - b for a, b in zip(below[index], lower, strict=True)]
        classes.append((label, counts, colour))
    open_to_all = rows.total("liquidatable")
    known = any(value is not None for value in open_to_all)
    if known:
        stranded = [None if a is None or b is None else a - b for a, b in zip(below[0], open_to_all, strict=True)]
        classes[0] = (classes[0][0], open_to_all, classes[0][2])
        if any(stranded):
            classes.insert(0, (STRANDED, stranded, "$muted"))
        title = _accounts_finding(rows, accounts, open_to_all, stranded)
    else:  # runs of earlier versions do not tell accounts without collateral apart
        classes[0] = ("below 1", classes[0][1], classes[0][2])
        worst = max(value or 0 for value in below[0])
        title = f"At most {plural(worst, 'account')} of {accounts:,.0f} ends a step below a health factor of 1"
    return stacked_areas(
        title,
        f"Accounts with debt by health factor at the end of each step; {rows.sample}.",
        rows.x,
        classes,
        Axis("accounts", "count", zero=True),
        source="Market figures of each group of accounts (table market_snapshots).",
    )


def _accounts_finding(
    rows: RunRows, accounts: float, open_to_all: list[float | None], stranded: list[float | None]
) -> str:
    """Say how many accounts can be liquidated at worst, and how many have debt and no collateral at the end."""
    worst = max((value or 0 for value in open_to_all), default=0)
    step = next((at for at, value in zip(rows.x.steps, open_to_all, strict=True) if value == worst), None)
    left = stranded[-1] or 0
    waiting = f"at worst {plural(worst, 'account')} of {accounts:,.0f} can be liquidated, after step {step}"
    if left:
        never = "none ends a step open to liquidation"
        end = f"{'ends' if left == 1 else 'end'} with debt and no collateral"
        return f"{plural(left, 'account')} of {accounts:,.0f} {end}; {waiting if worst else never}"
    if worst:
        return waiting[:1].upper() + waiting[1:]
    return f"No account of {accounts:,.0f} ends a step below a health factor of 1"


LIQUIDATED_AT = "(TRY_CAST(json_extract_string(details, '$.borrower_health_factor_wad') AS DOUBLE) / 1e18)"
"""SQL for the health factor at which an account was liquidated."""


def single_health(rows: RunRows, *, wide: bool = False) -> Chart | None:
    """The health factor of the only account: at the ends of steps, and when it was liquidated."""
    subject = rows.populations[0] if rows.populations else ""
    values = rows.series(subject, "health_factor_lowest")
    known = [(value, step) for value, step in zip(values, rows.x.steps, strict=True) if value is not None]
    if not known:
        return None
    liquidated = rows.least(LIQUIDATED_AT, LIQUIDATED)
    closed = values[-1] is None
    distance = (
        f"; collateral may lose another {percent(1 - 1 / known[-1][0])}" if not closed and known[-1][0] > 1 else ""
    )
    series = [Line("end of step", values, markers=len(known) < 30)]
    if any(value is not None for value in liquidated):
        series.append(Line("when liquidated", liquidated, markers=True, colour="$2"))
    return lines(
        _health_finding(rows, subject, known, liquidated, closed=closed),
        f"Health factor of {subject} at the end of each step; below 1 anyone may liquidate{distance}; {rows.sample}.",
        rows.x,
        series,
        Axis("health factor", ".3~f"),
        marks=[(1.0, "liquidation below 1")],
        source="Market figures (table market_snapshots) and liquidations (table actions) of the run.",
        wide=wide,
    )


def _health_finding(
    rows: RunRows, subject: str, known: list[tuple[float, int]], liquidated: list[float | None], *, closed: bool
) -> str:
    """Say how low the health factor gets and what follows: a liquidation, the end of the loan, or nothing."""
    low, step = min(known)
    at = [(value, when) for value, when in zip(liquidated, rows.x.steps, strict=True) if value is not None]
    if at:
        lowest = min(low, min(at)[0])
        several = f" {len(at)} times, first" if len(at) > 1 else ""
        gone = ", which closes the loan" if closed and len(at) == 1 else ""
        return f"The health factor falls to {lowest:.3g}: {subject} is liquidated{several} in step {at[0][1]}{gone}"
    first, last = known[0][0], known[-1][0]
    end = "then the loan is closed" if closed else f"and is {last:.3g} at the end"
    if f"{low:.3g}" == f"{first:.3g}":  # nothing fell
        same = f"{last:.3g}" == f"{low:.3g}" and max(known)[0] == min(known)[0]
        if same and not closed:
            return f"The health factor stays at {low:.3g}"
        return f"The health factor is {low:.3g} when the loan opens, does not fall below that, {end}"
    return f"The health factor falls to {low:.3g} by the end of step {step}, {end}"


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
        source="Market figures of the run (table market_snapshots).",
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
        source="Market figures of the run (table market_snapshots).",
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
    return Section("rates", "Utilisation and rates", tuple(charts), _debt_before(rows)) if charts else None


def _debt_before(rows: RunRows) -> str:
    """Warn that a market of Aave V3.6 starts without debt; empty on other worlds."""
    place = rows.run.world
    market = place not in chain_names() and any(
        each.startswith(place.partition("@")[0] + "@") for each in market_names()
    )
    if rows.run.source != "replica" or not market:
        return ""
    return (
        "Debt on the real market is not part of this world: on Aave nobody owed anything before the run, so that"
        " utilisation and rates come from the run's own accounts, and are lower than on chain."
    )


def _of(kept: int, all_of: int) -> str:
    return f"the {kept} reserves that move most of {all_of}" if kept < all_of else plural(kept, "reserve")
