"""`mayavi runs accounts`: the borrowing accounts of a run after its last step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.output import Column, print_json, print_note, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mayavi.sim.rows import AccountRow

_E8 = 10**8
_WAD = 10**18


def accounts(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run id, a unique beginning or end of one, or `latest`.")],
    show_all: Annotated[
        bool, typer.Option("--all", help="Show healthy accounts that were never liquidated too.")
    ] = False,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FILE", help="The database of runs; by default data/runs/runs.duckdb."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the accounts after the last step: liquidations, bad debt, and why an unhealthy account is left.

    The bad debt of the accounts adds up to the bad debt of the run. Without `--all`, only accounts that were
    liquidated, have bad debt or are below a health factor of one.
    """
    from mayavi.sim.store import Store

    database = Store(store)
    found = database.run(run)
    rows = database.accounts(found.run_id).records()
    if as_json:
        print_json({"run_id": found.run_id, "accounts": [account_document(row) for row in rows]})
        return
    if not rows:
        print_note(f"run {found.run_id} has no borrowing accounts on record: {_why_none(found.status)}")
        return
    shown = [row for row in rows if show_all or row.reason or row.liquidations or int(row.bad_debt)]
    if shown:
        print_accounts(sorted(shown, key=_rank))
    print_note(summary(rows))
    if len(shown) < len(rows):
        print_note(f"… {len(rows) - len(shown):,} healthy accounts that were never liquidated; `--all` shows them")


def _rank(row: AccountRow) -> tuple[int, bool, int, str]:
    """Sort bad debt first, then accounts below a health factor of one, then by the amount liquidated."""
    return -int(row.bad_debt), not row.reason, -int(row.liquidated), row.account


def print_accounts(rows: Sequence[AccountRow]) -> None:
    """Print one line per account."""
    titles = ("account", "collateral", "debt", "health factor", "times liquidated", "liquidated", "bad debt", "reason")
    print_table([Column(title, right=0 < at < 7) for at, title in enumerate(titles)], [_cells(row) for row in rows])


def _cells(row: AccountRow) -> tuple[str, ...]:
    from mayavi.scenarios.figures.formatting import shown_number

    collateral, debt, liquidated, bad_debt = (
        shown_number(int(value) / _E8, row.unit) for value in (row.collateral, row.debt, row.liquidated, row.bad_debt)
    )
    factor = f"{int(row.health_factor) / _WAD:.3f}" if row.health_factor else ""
    return row.account, collateral, debt, factor, f"{row.liquidations:,}", liquidated, bad_debt, row.reason


def summary(rows: Sequence[AccountRow]) -> str:
    """Return the number of accounts that were liquidated, have bad debt or are left, with the reasons."""
    from collections import Counter

    liquidated, bad = sum(row.liquidations > 0 for row in rows), sum(int(row.bad_debt) > 0 for row in rows)
    reasons = Counter(row.reason for row in rows if row.reason)
    named = "; ".join(f"{reason}: {count:,}" for reason, count in sorted(reasons.items()))
    below = f", {sum(reasons.values()):,} below a health factor of one ({named})" if reasons else ""
    return f"{len(rows):,} accounts: {liquidated:,} liquidated, {bad:,} with bad debt{below}"


def account_document(row: AccountRow) -> dict[str, object]:
    """Return an account as JSON data; exact integers are text."""
    return {name: getattr(row, name) for name in row.__dataclass_fields__}


def _why_none(status: str) -> str:
    if status != "finished":
        return f"it is {status}, and accounts are read after the last step"
    return "nobody borrows in its scenario, or an earlier version recorded it"
