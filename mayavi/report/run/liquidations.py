"""Liquidations: over time, by asset, collateral against debt, and what liquidators earned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.report.charts.axes import Axis
from mayavi.report.charts.bars import Bar, bars, columns_over
from mayavi.report.charts.heat_map import heat_map
from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import percent
from mayavi.report.page import Block, Chart, Section, Text
from mayavi.report.run.lending import LIQUIDATED, unit_of, value_axis
from mayavi.report.run.rows import detail
from mayavi.report.run.words import money, plural
from mayavi.sim.store.database.schema import literal

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows

DONE = LIQUIDATED
MOST_ASSETS = 12
_COLLATERAL = "coalesce(json_extract_string(details, '$.collateral'), '?')"
_DEBT = "coalesce(json_extract_string(details, '$.debt'), '?')"


def liquidation_section(rows: RunRows) -> Section | None:
    """Everything about liquidations; a sentence if there were none."""
    if not rows.populations:
        return None
    tried, done = rows.sql(
        f"SELECT count(*) FILTER (kind IN ('liquidate', 'absorb')), count(*) FILTER ({DONE})"
        " FROM actions WHERE run_id = {run}"
    )[0]
    if not done:
        text = "No account was liquidated." + (f" {plural(tried, 'attempt')} failed." if tried else "")
        return Section("liquidations", "Liquidations", (Text((text,)),))
    assets = rows.sql(f"SELECT DISTINCT {_COLLATERAL}, {_DEBT} FROM actions WHERE run_id = {{run}} AND {DONE}")
    blocks: list[Block] = [over_time(rows), profits(rows)]
    if len({collateral for collateral, _ in assets}) > 1:
        blocks += [by_asset(rows, count=False), by_asset(rows, count=True)]
    if len(assets) > 1:
        blocks.append(heat(rows))
    seized = rows.sql(f"SELECT sum({detail('seized_e8')}) FROM actions WHERE run_id = {{run}} AND {DONE}")[0][0]
    pair = f", all of it {assets[0][0]} against {assets[0][1]}" if len(assets) == 1 else ""
    lead = (
        f"{plural(done, 'liquidation')} succeeded and {plural(tried - done, 'attempt')} failed."
        f" Liquidators seized {money(seized, unit_of(rows))} of collateral{pair}."
    )
    return Section("liquidations", "Liquidations", tuple(blocks), lead)


def over_time(rows: RunRows) -> Chart:
    """Debt that liquidators covered in each step."""
    values = rows.summed(detail("covered_e8"), DONE)
    most = max((value or 0.0 for value in values), default=0.0)
    total = sum(value or 0.0 for value in values)
    step = next((at for at, value in zip(rows.x.steps, values, strict=True) if value == most), 0)
    share = percent(most / total) if total else "none"
    return columns_over(
        f"Step {step} sees the most: {money(most, unit_of(rows))}, {share} of all liquidated debt",
        f"Debt that liquidators covered in a step; {rows.sample}. Click a bar for its actions.",
        rows.x,
        [Bar("debt covered", values)],
        value_axis(rows),
        source="Successful liquidations of the run (table actions).",
    )


def by_asset(rows: RunRows, *, count: bool) -> Chart:
    """Seized collateral by asset, in value or number of liquidations."""
    value = "count(*)" if count else f"sum({detail('seized_e8')})"
    found = rows.sql(
        f"SELECT {_COLLATERAL} AS asset, {value}::DOUBLE AS total FROM actions WHERE run_id = {{run}} AND {DONE}"
        f" GROUP BY asset ORDER BY total DESC NULLS LAST, asset LIMIT {MOST_ASSETS}"
    )
    top, most = found[0]
    if count:
        title = f"{top} is seized in {plural(most, 'liquidation')}"
        what, axis = "Number of successful liquidations by seized collateral", Axis("liquidations", "count")
    else:
        title = f"Liquidators seize {money(most, unit_of(rows))} of {top}" + (", the most" if len(found) > 1 else "")
        what, axis = "Collateral that liquidators seized, at the oracle's prices", value_axis(rows)
    return bars(
        title,
        f"{what}; {plural(len(found), 'asset')}.",
        [asset for asset, _ in found],
        [Bar("liquidations" if count else "seized", [total for _, total in found])],
        axis,
        label_title="collateral",
        source="Successful liquidations of the run (table actions).",
    )


def heat(rows: RunRows) -> Chart:
    """Liquidated debt by collateral (rows) and debt (columns)."""
    found = rows.sql(
        f"SELECT {_COLLATERAL}, {_DEBT}, sum({detail('covered_e8')}) FROM actions WHERE run_id = {{run}} AND {DONE}"
        " GROUP BY 1, 2 ORDER BY 3 DESC NULLS LAST, 1, 2"
    )
    cells = {(collateral, debt): total for collateral, debt, total in found}
    collaterals = list(dict.fromkeys(collateral for collateral, _, _ in found))[:MOST_ASSETS]
    debts = list(dict.fromkeys(debt for _, debt, _ in found))[:MOST_ASSETS]
    collateral, debt, most = found[0]
    return heat_map(
        f"{collateral} against {debt} is liquidated most: {money(most, unit_of(rows))}",
        f"Debt covered by collateral and debt asset; {plural(len(found), 'pair')}.",
        ("debt", debts),
        ("collateral", collaterals),
        [[cells.get((row, column)) for column in debts] for row in collaterals],
        value_axis(rows),
        source="Successful liquidations of the run (table actions).",
    )


def profits(rows: RunRows) -> Chart:
    """Cumulative profit of liquidators before gas, the five who earn most."""
    found = rows.sql(
        f"SELECT agent, sum({detail('profit_e8')}) AS profit FROM actions WHERE run_id = {{run}} AND {DONE}"
        " GROUP BY agent ORDER BY profit DESC NULLS LAST, agent"
    )
    series = [
        Line(
            agent, rows.summed(detail("profit_e8"), f"{DONE} AND agent = {literal(agent)}", cumulative=True), step=True
        )
        for agent, _ in found[:5]
    ]
    agent, most = found[0]
    total = sum(profit or 0.0 for _, profit in found)
    of_all = f" of {money(total, unit_of(rows))}" if len(found) > 1 else ""
    after = rows.kpi("liquidator_profit")
    net = f" All liquidators keep {money(after, unit_of(rows))} after gas." if after is not None else ""
    gas = " before gas"
    if rows.gas_is_free:
        net, gas = " Gas is free in this run.", ""
    return lines(
        f"{agent} earns {money(most, unit_of(rows))}{of_all}{gas}",
        f"Cumulative profit{gas}, {plural(len(found), 'liquidator')}; {rows.sample}.{net}",
        rows.x,
        series,
        value_axis(rows),
        source="Successful liquidations of the run (table actions).",
    )
