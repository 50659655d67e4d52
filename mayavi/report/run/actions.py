"""The block slider and the action log, with calls in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mayavi.report.page import ActionLog, LoggedAction, Scrubber, Section
from mayavi.report.run.words import format_of
from mayavi.sim.store.amounts import describe_liquidation, describe_trade, dollars, format_amount, integer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mayavi.report.run.rows import RunRows

MOST_ROWS = 3_000
MOST_BYTES = 450_000
"""Size of all details in a page; rows beyond it are left to the export."""
MOST_FIGURES = 24
_FIRST = "CASE WHEN kind IN ('liquidate', 'absorb') THEN 0 WHEN status <> 'success' THEN 1 ELSE 2 END"


def action_section(rows: RunRows) -> Section | None:
    """The slider over the steps and the log under it."""
    log = action_log(rows)
    slider = scrubber(rows)
    if slider is None:
        return Section("actions", "Actions", (log,)) if log.rows else None
    lead = "Choose a step, or click a point of a chart above; then open an action for its exact fields."
    return Section("actions", "Block by block", (slider, log), lead)


def scrubber(rows: RunRows) -> Scrubber | None:
    """The slider; None for a run without recorded steps."""
    line = rows.timeline
    if not line:
        return None
    accounts = {name for (name,) in rows.sql("SELECT account FROM accounts WHERE run_id = {run}")} - set(
        rows.populations
    )
    wanted = (
        "price",
        "market_price",
        "bad_debt",
        "debt",
        "collateral",
        "liquidatable",
        "utilisation",
        "borrow_rate",
        "tvl",
    )
    units = dict(
        rows.sql("SELECT DISTINCT metric, any_value(unit) FROM market_snapshots WHERE run_id = {run} GROUP BY 1")
    )
    figures: list[tuple[str, str, tuple[float | None, ...]]] = []
    for subject, metrics in rows.subjects.items():
        if subject in accounts:
            continue
        for metric in sorted(metrics):
            if (metric in wanted or metric.startswith("price_")) and len(figures) < MOST_FIGURES:
                name = f"{subject} {metric.replace('_', ' ')}"
                exact = (
                    "exact_usd" if units[metric] == "usd_e8" and "price" in metric else format_of(metric, units[metric])
                )
                figures.append((name, exact, tuple(rows.series(subject, metric))))
    count = [int(value or 0) for value in rows.summed("1", "true")]
    failed = [int(value or 0) for value in rows.summed("1", "status IN ('failed', 'raised')")]
    return Scrubber(
        tuple(step for step, _, _ in line),
        tuple(block for _, block, _ in line),
        tuple(moment for _, _, moment in line),
        tuple(figures),
        tuple(count),
        tuple(failed),
    )


def action_log(rows: RunRows) -> ActionLog:
    """The log: all actions of a small run, of a larger one liquidations, failures and the earliest."""
    ((total,),) = rows.sql("SELECT count(*) FROM actions WHERE run_id = {run}")
    found = rows.sql(
        "SELECT seq, step, block_number, timestamp, agent, account, kind, status, reason, gas_used, details FROM ("
        "SELECT *, sum(length(details) + length(reason) + 60) OVER (ORDER BY rank, seq) AS bytes FROM ("
        f"SELECT *, {_FIRST} AS rank FROM actions WHERE run_id = {{run}}"
        f" QUALIFY row_number() OVER (ORDER BY rank, seq) <= {MOST_ROWS}))"
        f" WHERE bytes <= {MOST_BYTES} ORDER BY seq"
    )
    decimals = rows.decimals
    logged = tuple(
        LoggedAction(
            int(seq),
            int(step),
            int(block),
            int(moment),
            agent,
            account,
            kind,
            status,
            describe(kind, _parsed(details), decimals),
            reason,
            int(gas),
            details,
        )
        for seq, step, block, moment, agent, account, kind, status, reason, gas, details in found
    )
    note = ""
    if len(logged) < total:
        note = (
            f"{len(logged):,} of {total:,} actions are in this page: liquidations first, then failures,"
            " then the earliest. The command writes all of them to CSV files."
        )
    return ActionLog(logged, int(total), f"mayavi runs export {rows.run.run_id} --format csv", note)


_SAID = {"repay": "repaid ", "borrow": "borrowed ", "withdraw": "withdrawn "}
"""By kind of action: the word of its amount that the kind says already."""


def describe(kind: str, details: Mapping[str, Any], decimals: Mapping[str, int]) -> str:
    """Say in words what an action called and moved: `liquidate borrowers-67: paid 24,906.83 USDC of debt for …`."""
    if kind in {"liquidate", "absorb"} and "borrower" in details:
        profit = integer(details.get("profit_e8"))
        parts = [describe_liquidation(details, decimals), "" if profit is None else f"profit {dollars(profit)}"]
        return f"{kind} {details['borrower']}: {', '.join(part for part in parts if part)}".rstrip(": ")
    if kind == "post_price" and "answer" in details:
        symbol, places = str(details.get("symbol", "")), integer(details.get("decimals")) or 0
        before, after = (_scaled(details.get(key), places) for key in ("answer_before", "answer"))
        return f"{details.get('feed', symbol)}: {before} → {after}"
    if kind == "release" and "released" in details:
        return f"release {format_amount(details['released'], str(details.get('token', '')), decimals)}"
    if kind == "sell" and "received" in details and "sold" in details:
        return f"sell {format_amount(details['sold'], str(details.get('token', '')), decimals)}"
    if kind == "open" and "supplied" in details:
        supplied = format_amount(details["supplied"], str(details.get("collateral", "")), decimals)
        borrowed = format_amount(details.get("borrowed", "0"), str(details.get("debt", "")), decimals)
        return f"supply {supplied}, borrow {borrowed}"
    moved = describe_trade(details, decimals).removeprefix(_SAID.get(kind, ""))
    pool = f" on {details['pool']}" if isinstance(details.get("pool"), str) else ""
    return f"{kind} {moved}{pool}" if moved else f"{kind} {details.get('note', '')}".strip()


def _scaled(value: object, places: int) -> str:
    units = integer(value)
    return (
        "?"
        if units is None
        else f"{units / 10**places:,.6g}"
        if abs(units) < 10 ** (places + 6)
        else f"{units // 10**places:,}"
    )


def _parsed(details: str) -> dict[str, Any]:
    try:
        found = json.loads(details)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
