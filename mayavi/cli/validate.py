"""`mayavi validate`: prove the EVM and the protocols on real chain data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.group import command_group
from mayavi.cli.output import Column, print_json, print_table
from mayavi.cli.progress import counted

if TYPE_CHECKING:
    from mayavi.replay.blocks import BlockReport, Report
    from mayavi.replay.quotes import QuotesReport

app = command_group("Prove the EVM and the protocols on real chain data.")


@app.command("blocks")
def blocks(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of cases: one sub-folder a block number.")],
    only: Annotated[list[int] | None, typer.Option("--block", help="Only this block; may be given again.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Execute complete mainnet blocks again and compare every receipt with the chain's own.

    Per transaction: status, gas used, logs. Per block: gas used, logs bloom, receipts root. The first difference of a
    block is explained. Exit code 1 when anything differs.
    """
    from mayavi.replay.blocks import validate

    wanted = list(dict.fromkeys(only)) if only else None  # a block named twice is still one block
    with counted("replaying", "blocks") as advance:
        report = validate(folder, only=wanted, progress=lambda _, done, total: advance(done, total))
    if as_json:
        print_json(report.to_json())
    else:
        print_report(report)
    if not report.exact:
        raise typer.Exit(1)


def print_report(report: Report) -> None:
    """A line a block, then what differs, then the totals."""
    columns = [
        Column("block"),
        Column("hard fork", right=False),
        Column("transactions"),
        Column("exact"),
        Column("gas"),
        Column("result", right=False, style="bold"),
    ]
    print_table(columns, [cells(block) for block in report.blocks])
    print()
    for block in report.blocks:
        if block.first_difference:
            print(f"block {block.number}, {block.first_difference}")
    noted = sum(bool(block.notes) for block in report.blocks)
    if noted:
        share = f"in {noted} of {len(report.blocks)} blocks"
        print(f"{share} the pre-state allows withdrawals or system calls only in part; --json lists them")
    totals = report.to_json()
    print(f"{totals['exact_blocks']} of {totals['blocks']} blocks exact")
    print(
        f"{totals['exact_transactions']:,} of {totals['transactions']:,} transactions exact, {totals['gas_used']:,} gas"
    )


def cells(block: BlockReport) -> list[str]:
    """One block as a row of the table."""
    return [
        str(block.number),
        block.hardfork,
        f"{block.transactions:,}",
        f"{block.exact_transactions:,}",
        f"{block.gas_used:,}",
        "exact" if block.exact else "differs",
    ]


@app.command("quotes")
def quotes(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of recorded pools and quotes, as JSON.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Rebuild pools as they stood on chain and ask them every quote that was recorded there.

    Uniswap V3 pools are rebuilt from their tick map on Uniswap's own code, Curve pools on ours. Exit code 1 when any
    answer differs from the chain's.
    """
    from mayavi.replay.quotes import validate_quotes

    with counted("asking", "pools") as advance:
        report = validate_quotes(folder, progress=advance)
    if as_json:
        print_json(report.to_json())
    else:
        print_quotes(report)
    if not report.exact:
        raise typer.Exit(1)


def print_quotes(report: QuotesReport) -> None:
    """A line a pool, then what differs, then the totals."""
    columns = [Column("pool", right=False), Column("protocol", right=False), Column("block"), Column("quotes")]
    columns += [Column("exact"), Column("result", right=False, style="bold")]
    print_table(
        columns,
        [
            (
                pool.name,
                pool.protocol,
                str(pool.block),
                str(pool.quotes),
                str(pool.exact_quotes),
                "exact" if pool.exact else "differs",
            )
            for pool in report.pools
        ],
    )
    print()
    for pool in report.pools:
        if not pool.exact:
            print(f"{pool.name} at block {pool.block}, {pool.problem or pool.first_difference}")
    totals = report.to_json()
    print(f"{totals['exact_quotes']} of {totals['quotes']} quotes exact")
