"""Evidence at the end of a page: top accounts, failed actions, all KPIs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.report.page import Block, Column, Section, Table
from mayavi.report.run.lending import DEFICIT
from mayavi.report.run.words import exact_text, plural

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows

TOP = 20
_AMOUNT = r"(0x[0-9a-fA-F]{40}|\b[0-9][0-9_,]*(\.[0-9]+)?\b)"
_LINE = r"regexp_replace(split_part(reason, chr(10), 1), 'reverted: ([0-9]+) ', 'reverted: n\1 ')"
_GIST = rf"regexp_replace(regexp_replace({_LINE}, '{_AMOUNT}', '…', 'g'), 'reverted: n([0-9]+) ', 'reverted: \1 ')"
"""SQL for the first line of a reason without amounts and addresses; numbers of errors stay."""


def account_section(rows: RunRows) -> Section | None:
    """The accounts that matter most: with bad debt, then liquidated, then with the largest debt."""
    ((total,),) = rows.sql("SELECT count(*) FROM accounts WHERE run_id = {run}")
    if not total:
        return None
    found = rows.sql(
        "SELECT account, market, collateral_number, debt_number,"
        " CASE WHEN health_factor = '' THEN NULL ELSE CAST(health_factor AS DOUBLE) / 1e18 END,"
        " liquidations, liquidated_number, bad_debt_number, reason FROM accounts WHERE run_id = {run}"
        f" ORDER BY bad_debt_number DESC, liquidated_number DESC, debt_number DESC, account LIMIT {TOP}"
    )
    units = {unit for (unit,) in rows.sql("SELECT DISTINCT unit FROM accounts WHERE run_id = {run}")}
    money = "exact_usd" if units == {"usd_e8"} else "number"
    unit = "" if units == {"usd_e8"} else "USD or ETH, as the market counts"
    table = Table(
        (
            Column("account"),
            Column("market"),
            Column("collateral", money, unit),
            Column("debt", money, unit),
            Column("health factor", "short"),
            Column("liquidations", "count"),
            Column("liquidated debt", money, unit),
            Column("bad debt", money, unit),
            Column("why it is still there"),
        ),
        tuple(found),
        "",
        note=f"{min(TOP, total):,} of {total:,} accounts after the last step, at the oracle's prices:"
        " bad debt first, then liquidated debt, then debt.",
        command=f"mayavi runs accounts {rows.run.run_id}",
    )
    return Section("top-accounts", "Top accounts", (table,))


def failure_section(rows: RunRows) -> Section | None:
    """Failed and declined actions by kind and reason, amounts and addresses in reasons replaced."""
    found = rows.sql(
        "SELECT kind, status, gist, count(*) AS n, min(step), max(step), count(DISTINCT account) FROM"
        f" (SELECT kind, status, step, account, {_GIST} AS gist FROM actions"
        " WHERE run_id = {run} AND status <> 'success')"
        " GROUP BY ALL ORDER BY n DESC, kind, gist LIMIT 40"
    )
    if not found:
        return None
    declined = [row[3] for row in found if row[1] == "declined"]
    failed = [row[3] for row in found if row[1] != "declined"]
    table = Table(
        (
            Column("action"),
            Column("status"),
            Column("reason"),
            Column("count", "count"),
            Column("first step", "count"),
            Column("last step", "count"),
            Column("accounts", "count"),
        ),
        tuple(found),
        "",
        note="Amounts and addresses in reasons are replaced by …; the action log has them.",
    )
    lead = []
    if failed:
        lead.append(f"{plural(sum(failed), 'action')} failed for {plural(len(failed), 'reason')}.")
        lead.append("Failures are part of the result: they say what did not work.")
    if declined:
        lead.append(f"{plural(sum(declined), 'action')} declined: the agent decided against when its turn came.")
    title = "Failed actions" if not declined else "Failed and declined actions" if failed else "Declined actions"
    return Section("failures", title, (table,), " ".join(lead))


def kpi_section(rows: RunRows) -> Section | None:
    """All KPIs of the run with their exact values."""
    if not rows.kpis:
        return None
    from mayavi.scenarios.figures.formatting import title_of

    table = Table(
        (Column("figure"), Column("value", "number"), Column("exact integer", "number"), Column("unit")),
        tuple((title_of(row.name), exact_text(row, rows.run.chain), row.value, row.unit) for row in rows.kpis.values()),
        note=f"deficit: {DEFICIT}" if "deficit" in rows.kpis else "",
        command=f"mayavi runs show {rows.run.run_id} --json",
    )
    blocks: tuple[Block, ...] = (table,)
    return Section("kpis", "All figures", blocks, "Every KPI of the run, as the table kpis stores it.")
