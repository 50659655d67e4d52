"""`mayavi replay history`: replay a range of blocks of a node."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.output import print_facts, print_json, print_note
from mayavi.cli.console.progress import counted
from mayavi.cli.replay.options import (
    ConcurrencyOption,
    FromOption,
    JsonOption,
    ReplayChainOption,
    RequestsOption,
    RpcOption,
    ToOption,
)
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.replay.history.scanner import HistoryReport

STORE_VARIABLE = "MAYAVI_HISTORY"
SHOWN = 10


def history(
    first: FromOption,
    last: ToOption,
    rpc: RpcOption = None,
    chain: ReplayChainOption = None,
    address: Annotated[
        str | None,
        typer.Option("--address", metavar="A", help="Only transactions from or to A, or with a log of A."),
    ] = None,
    selector: Annotated[
        str | None,
        typer.Option("--selector", metavar="S", help="Only calls of this function: 0xa9059cbb or its signature."),
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option("--topic", metavar="T", help="Only transactions with this topic: in hex, or an event signature."),
    ] = None,
    state: Annotated[
        str,
        typer.Option(
            "--state", metavar="touched|changed|none", help="State to compare with the node after each block."
        ),
    ] = "touched",
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FILE", help="Database of replays; by default data/runs/history.duckdb."),
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option("--cases", metavar="DIR", help="Also write every executed block as a case into this folder."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Replay blocks that are stored already.")] = False,
    max_requests: RequestsOption = None,
    concurrency: ConcurrencyOption = 4,
    as_json: JsonOption = False,
) -> None:
    """Replay the transactions of a range of blocks, each in its place, and compare them with the chain.

    A block with a matching transaction is executed whole on the state of its parent. Compared are status, gas, logs and
    all other fields of the receipts, the header's roots, and the state that the block read or wrote. Every finished
    block is stored; a call that was interrupted continues where it ended. With --cases, `mayavi artifact` writes the
    scan to a bundle that is verified without a node. Exit code 1 if anything differs.
    """
    from mayavi.replay.history.case_files import CaseFolder
    from mayavi.replay.history.node import ReplayNode, check_range
    from mayavi.replay.history.scanner import Scanner
    from mayavi.replay.history.store import HistoryStore
    from mayavi.replay.history.touched_state import STATE_CHECKS
    from mayavi.replay.history.transaction_filter import TransactionFilter

    check = next((each for each in STATE_CHECKS if each == state), None)
    if check is None:
        raise UsageError(f"'{state}' is not a state to compare", f"known: {', '.join(STATE_CHECKS)}")
    check_range(first, last)
    chosen = TransactionFilter.parse(address, selector, topic)
    path = history_path(store)
    # Workers share the connection: each may ask once at a time.
    with ReplayNode.open(rpc, chain=chain, max_requests=max_requests, concurrency=1) as node:
        node.require_range(first, last)
        with HistoryStore(path) as database, counted("replaying", "blocks", eta=True) as advance:
            folder = None if cases is None else CaseFolder.open(cases, "--cases")
            scanner = Scanner(node, database, chosen, check=check, concurrency=concurrency, cases=folder)
            report = scanner.run(first, last, again=again, progress=advance)
    if as_json:
        print_json({**report.to_json(), "store": str(path), "filter": chosen.text or None})
    else:
        print_report(report, path)
        if cases is not None:
            print_note(f"`mayavi artifact {report.scan_id} --cases {cases}` writes the scan to a bundle")
    if not report.exact:
        raise typer.Exit(1)


def history_path(store: Path | None) -> Path:
    """Return the database of replays: `store`, else the one that the environment names, else the default."""
    from mayavi.replay.history.store import DEFAULT

    return store or Path(os.environ.get(STORE_VARIABLE, "").strip() or DEFAULT)


def print_report(report: HistoryReport, store: Path) -> None:
    """Print totals, the first differences, and what the scan cost."""
    totals = report.totals
    for each in report.differences[:SHOWN]:
        print(each)
    if len(report.differences) > SHOWN:
        print(f"… and {len(report.differences) - SHOWN:,} more blocks that differ; --json lists them")
    if report.differences:
        print()
    requests = f"{report.requests:,} requests"
    if report.replayed:
        requests += f", {report.requests / report.replayed:.2f} a block, {report.seconds:.1f} s"
    print_facts(
        [
            ("blocks", f"{totals['exact_blocks']:,} of {totals['blocks']:,} exact, {report.first} to {report.last}"),
            ("transactions", f"{totals['exact_transactions']:,} of {totals['matched']:,} exact"),
            ("state", f"{totals['state_values']:,} balances, nonces, codes and slots compared"),
            ("gas", f"{totals['gas_used']:,}"),
            ("replayed now", f"{report.replayed:,} blocks; {totals['blocks'] - report.replayed:,} were stored"),
            ("node", requests + (f", state by {report.source}" if report.source else "")),
            ("store", f"{store}, {report.scan_id}"),
        ]
    )
    for note in report.notes:
        print(f"note: {note}")
    print("exact" if report.exact else f"differs: {report.differences[0]}")
