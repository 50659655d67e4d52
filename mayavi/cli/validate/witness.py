"""`mayavi validate witness`: prove pre-states from execution witnesses, execute the blocks, compare state roots."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.output import Column, print_json, print_table
from mayavi.cli.console.progress import counted
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.replay.witness import WitnessReport, WitnessReports


def witness(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH…", help="Witness files, or folders of them.")],
    block_hash: Annotated[
        str | None, typer.Option("--hash", metavar="HASH", help="Hash of the block from a source you trust.")
    ] = None,
    hardfork: Annotated[
        str | None, typer.Option("--hardfork", metavar="NAME", help="Rules, instead of those of chain and block.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Prove the pre-state of each witness, execute its block and compare everything up to the state root.

    The pre-state: trie nodes by hash, from the pre-state root down. The block: gas used, blob gas, logs bloom, receipts
    root, requests hash, state root. Consecutive blocks must follow from one another. The first difference of each
    witness is printed. Exit code 1 if anything differs.
    """
    from mayavi.replay.witness import validate_witnesses

    known = None if block_hash is None else hash_of(block_hash)
    with counted("executing", "witnesses") as advance:
        reports = validate_witnesses(paths, block_hash=known, hardfork=hardfork, progress=advance)
    if as_json:
        print_json(reports.to_json())
    else:
        print_witnesses(reports)
    if not reports.exact:
        raise typer.Exit(1)


def hash_of(text: str) -> bytes:
    """Bytes of a block hash; `UsageError` if it is invalid."""
    try:
        raw = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        raw = b""
    if len(raw) != 32:
        raise UsageError(f"'{text}' is not a valid block hash", "give 32 bytes in hex: 0x…")
    return raw


def print_witnesses(reports: WitnessReports) -> None:
    """Print one row per witness, then differences, then totals."""
    columns = [
        Column("witness", right=False),
        Column("chain"),
        Column("block"),
        Column("hard fork", right=False),
        Column("transactions"),
        Column("gas"),
        Column("trie nodes"),
        Column("result", right=False, style="bold"),
    ]
    print_table(columns, [cells(each) for each in reports.witnesses])
    print()
    for each in reports.witnesses:
        if not each.readable and each.first_difference:
            print(f"{name_of(each)} cannot be read: {each.first_difference.got}")
        elif each.first_difference:
            print(f"{name_of(each)}, {each.first_difference}")
            if not each.executed:
                print(f"{name_of(each)} was not executed")
    totals = reports.to_json()
    unread = sum(each.unread_hashes for each in reports.witnesses)
    if unread:
        print(f"{unread:,} earlier block hashes are left out: nothing reads them, and nothing proves them")
    if any(each.notes for each in reports.witnesses):
        print("--json has the hash of each block, to compare with a source you trust, and notes")
    proven = ": pre-state proven, receipts root and state root equal" if totals["exact_witnesses"] else ""
    print(f"{totals['exact_witnesses']} of {totals['witnesses']} witnesses exact{proven}")
    executed = sum(each.transactions for each in reports.witnesses if each.executed)
    print(f"{executed:,} transactions executed, {totals['gas_used']:,} gas")


def name_of(report: WitnessReport) -> str:
    """File name, with the folder of a captured case, whose files all have the same name."""
    from mayavi.replay.witness import CAPTURED

    path = Path(report.path)
    return f"{path.parent.name}/{path.name}" if path.name == CAPTURED else path.name


def cells(report: WitnessReport) -> list[str]:
    """Table row of a witness."""
    return [
        name_of(report),
        "?" if report.chain_id is None else str(report.chain_id),
        "?" if report.number is None else str(report.number),
        report.hardfork,
        f"{report.transactions:,}" if report.readable else "?",
        f"{report.gas_used:,}" if report.executed else "not executed",
        f"{report.nodes:,}" if report.readable else "?",
        report.result,
    ]
